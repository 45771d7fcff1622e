//! Defines `Image`: an open image.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use lith::{
    bases::{self, Search},
    device::{FileDevice, OffsetDevice, ReadAt},
    reader::{self, Inode},
    remote::is_address,
};
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyBytes, PyCFunction, PyDict, PyList},
};

use crate::{
    buffer,
    device::PyDevice,
    entry::{self, DirEntry},
    error::{of_reader, of_work, os_error},
    file::File,
    many::{self, Range},
    path::{bytes, find, not_a_file, within},
    remote::{self, Failure, Remote},
};

/// How many forks this process and its ancestors went through since the module was loaded.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// Counts forks. Threads that held a lock of an image do not exist in the child, so it reads by an image of its own.
pub(crate) fn follow_forks(py: Python<'_>) -> PyResult<()> {
    let count = PyCFunction::new_closure(py, None, None, |_arguments, _named| {
        FORKS.fetch_add(1, Ordering::Relaxed);
    })?;
    let named = PyDict::new(py);
    named.set_item("after_in_child", count)?;
    py.import("os")?.call_method("register_at_fork", (), Some(&named))?;
    Ok(())
}

/// An open image.
#[pyclass(subclass, frozen, module = "lith._lith")]
pub(crate) struct Image {
    /// Its path, or what stands for it in errors.
    name: PathBuf,
    origin: Origin,
    /// `None`: it is closed. Locked for moments only, in which no other lock is taken.
    open: Mutex<Option<Open>>,
}

/// What an image is read from.
enum Origin {
    /// Nothing about these devices is changed by reading, so a forked process can use them too.
    Devices(Vec<Arc<dyn ReadAt>>),
    /// A forked process opens them again: it has none of their threads.
    Remote(Box<Remote>),
}

impl Origin {
    /// The devices for this process.
    fn devices(&self) -> Result<Vec<Arc<dyn ReadAt>>, Failure> {
        match self {
            Self::Devices(devices) => Ok(devices.clone()),
            Self::Remote(remote) => remote.devices(),
        }
    }
}

#[derive(Clone)]
struct Open {
    image: lith::Image,
    devices: Vec<Arc<dyn ReadAt>>,
    /// The value of [`FORKS`] when it was opened.
    forks: u64,
}

#[pymethods]
impl Image {
    #[new]
    #[pyo3(signature = (source, *, offset = 0, devices = Vec::new(), folders = Vec::new(), cache = None))]
    fn new(
        source: &Bound<'_, PyAny>,
        offset: u64,
        devices: Vec<PathBuf>,
        folders: Vec<PathBuf>,
        cache: Option<PathBuf>,
    ) -> PyResult<Self> {
        let py = source.py();
        let search = Search { devices, directories: folders, ..Search::default() };
        let (name, origin) = if let Some(address) = address(source) {
            let options = remote::options(cache.as_deref());
            let remote = Remote::new(&address, (offset, search), options);
            (remote.name(), Origin::Remote(Box::new(remote)))
        } else if let Ok(path) = source.extract::<PathBuf>() {
            let devices = py.detach(|| open_devices(&path, offset, &search));
            let devices = devices.map_err(|error| of_work(py, &error, &path))?;
            (path, Origin::Devices(devices))
        } else {
            let device = PyDevice::new(source)?;
            let name = PathBuf::from(source.str()?.to_str()?);
            (name, Origin::Devices(vec![at_offset(device, offset)]))
        };
        let open = py.detach(|| open(&origin));
        let open = open.map_err(|error| of_work(py, &*error, &name))?;
        Ok(Self { name, origin, open: Mutex::new(Some(open)) })
    }

    /// Forgets the image and its caches. What is used of it afterwards raises `ValueError`.
    fn close(&self) {
        let closed = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(closed);
    }

    /// Its path or address, the latter without what may be secret; or the text of what it is read from.
    #[getter(name)]
    fn shown_name(&self) -> OsString {
        self.name.clone().into()
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// The volume name.
    #[getter]
    fn label(&self, py: Python<'_>) -> PyResult<OsString> {
        Ok(OsString::from_vec(self.image(py)?.superblock().label().to_vec()))
    }

    /// The 16 bytes of the UUID.
    #[getter]
    fn uuid_bytes(&self, py: Python<'_>) -> PyResult<[u8; 16]> {
        Ok(self.image(py)?.superblock().uuid)
    }

    /// Bytes of a block.
    #[getter]
    fn block_size(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.image(py)?.superblock().block.size())
    }

    /// The number of inodes that the superblock tells.
    #[getter]
    fn inodes(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.image(py)?.superblock().inos)
    }

    /// Reads `length` bytes from `offset` on, or fewer at the end of the file; without `length` all of them.
    #[pyo3(signature = (path, offset = 0, length = None))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        offset: u64,
        length: Option<u64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (image, inode) = self.file_at(py, &path)?;
        let (start, length) = within(inode.size, offset, length);
        PyBytes::new_with(py, usize::try_from(length)?, |bytes| {
            let read = py.detach(|| image.file(&inode)?.read_at(bytes, start));
            read.map_err(|error| of_reader(py, &error, &path))
        })
    }

    /// Fills a buffer with the bytes from `offset` on. Returns how many there were before the end of the file.
    #[pyo3(signature = (path, buffer, offset = 0))]
    fn readinto(&self, path: PathBuf, buffer: &Bound<'_, PyAny>, offset: u64) -> PyResult<usize> {
        let py = buffer.py();
        let (image, inode) = self.file_at(py, &path)?;
        buffer::fill(buffer, |bytes| {
            let (start, length) = within(inode.size, offset, Some(bytes.len() as u64));
            let length = usize::try_from(length)?;
            let (bytes, _) = bytes.split_at_mut(length);
            let read = py.detach(|| image.file(&inode)?.read_at(bytes, start));
            read.map_err(|error| of_reader(py, &error, &path))?;
            Ok(length)
        })
    }

    /// Reads many ranges, each `(path, offset, length)`, by several threads. What can't be read is an exception in its place.
    #[pyo3(name = "_read_many", signature = (ranges, threads))]
    fn read_many<'py>(
        &self,
        py: Python<'py>,
        ranges: Vec<(PathBuf, u64, Option<u64>)>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let image = self.image(py)?;
        let ranges: Vec<_> = ranges.into_iter().map(Range::from).collect();
        let results = py.detach(|| many::read(&image, &ranges, threads));
        let objects = ranges.iter().zip(results).map(|(range, result)| match result {
            Ok(bytes) => PyBytes::new(py, &bytes).into_any(),
            Err(refusal) => {
                refusal.into_exception(py, &range.path).into_value(py).into_bound(py).into_any()
            }
        });
        PyList::new(py, objects.collect::<Vec<_>>())
    }

    /// The names in a directory, in the order of their bytes.
    #[pyo3(signature = (path = PathBuf::from("/")))]
    fn listdir(&self, py: Python<'_>, path: PathBuf) -> PyResult<Vec<OsString>> {
        let image = self.image(py)?;
        let entries = py.detach(|| list(&image, &path));
        let entries = entries.map_err(|error| of_reader(py, &error, &path))?;
        Ok(entries.into_iter().map(|entry| OsString::from_vec(entry.name)).collect())
    }

    /// The entries of a directory, in the order of their names' bytes.
    #[pyo3(signature = (path = PathBuf::from("/")))]
    fn scandir(slf: &Bound<'_, Self>, path: PathBuf) -> PyResult<Vec<DirEntry>> {
        let (py, this) = (slf.py(), slf.get());
        let image = this.image(py)?;
        let entries = py.detach(|| list(&image, &path));
        let entries = entries.map_err(|error| of_reader(py, &error, &path))?;
        Ok(entries.into_iter().map(|entry| DirEntry::new(slf, &path, entry)).collect())
    }

    /// The attributes of a file, as `os.stat` returns them.
    #[pyo3(signature = (path, *, follow_symlinks = true))]
    fn stat<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        follow_symlinks: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (image, inode) = self.find(py, &path, follow_symlinks)?;
        entry::stat(py, &image, &inode)
    }

    /// The target of a symbolic link.
    fn readlink(&self, py: Python<'_>, path: PathBuf) -> PyResult<OsString> {
        let (image, inode) = self.find(py, &path, false)?;
        let target = py.detach(|| image.read_link(&inode));
        Ok(OsString::from_vec(target.map_err(|error| of_reader(py, &error, &path))?))
    }

    /// The extended attributes of a file.
    #[pyo3(signature = (path, *, follow_symlinks = true))]
    fn xattrs<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        follow_symlinks: bool,
    ) -> PyResult<BTreeMap<OsString, Bound<'py, PyBytes>>> {
        let (image, inode) = self.find(py, &path, follow_symlinks)?;
        let xattrs = py.detach(|| image.xattrs(&inode));
        let xattrs = xattrs.map_err(|error| of_reader(py, &error, &path))?;
        let object =
            |xattr: reader::Xattr| (OsString::from_vec(xattr.name), PyBytes::new(py, &xattr.value));
        Ok(xattrs.into_iter().map(object).collect())
    }

    /// The content of a file, for reads at any position.
    #[pyo3(name = "_file")]
    fn file(slf: &Bound<'_, Self>, path: PathBuf) -> PyResult<File> {
        let (_, inode) = slf.get().file_at(slf.py(), &path)?;
        Ok(File::new(slf, inode, path))
    }

    /// Extracts all files into a directory, which is created if it doesn't exist and must be empty.
    fn extract(&self, py: Python<'_>, directory: PathBuf) -> PyResult<()> {
        let image = self.image(py)?;
        let report = py.detach(|| image.extract_to(&directory));
        report.map(drop).map_err(|error| of_work(py, &error, &directory))
    }
}

impl Image {
    /// What it is called in errors.
    pub(crate) fn name(&self) -> &Path {
        &self.name
    }

    /// Its devices.
    pub(crate) fn devices(&self, py: Python<'_>) -> PyResult<Vec<Box<dyn ReadAt>>> {
        Ok(boxed(&self.current(py)?.devices))
    }

    /// The image for this process.
    pub(crate) fn image(&self, py: Python<'_>) -> PyResult<lith::Image> {
        Ok(self.current(py)?.image)
    }

    fn current(&self, py: Python<'_>) -> PyResult<Open> {
        let current = self.open.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let parent = current.ok_or_else(|| PyValueError::new_err("the image is closed"))?;
        if parent.forks == FORKS.load(Ordering::Relaxed) {
            return Ok(parent);
        }
        let open = py.detach(|| open(&self.origin));
        let open = open.map_err(|error| of_work(py, &*error, &self.name))?;
        let current = open.clone();
        let mut slot = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // The parent's, whose locks may never be released here, is not dropped but forgotten.
        std::mem::forget((slot.replace(open), parent));
        Ok(current)
    }

    fn find(&self, py: Python<'_>, path: &Path, follow: bool) -> PyResult<(lith::Image, Inode)> {
        let image = self.image(py)?;
        let inode = py.detach(|| find(&image, path, follow));
        let inode = inode.map_err(|error| of_reader(py, &error, path))?;
        Ok((image, inode))
    }

    fn file_at(&self, py: Python<'_>, path: &Path) -> PyResult<(lith::Image, Inode)> {
        let (image, inode) = self.find(py, path, true)?;
        match not_a_file(&inode) {
            Some((errno, text)) => Err(os_error(py, errno, text, path)),
            None => Ok((image, inode)),
        }
    }
}

fn list(image: &lith::Image, path: &Path) -> Result<Vec<reader::DirEntry>, reader::Error> {
    image.read_dir(&image.resolve_following(bytes(path))?)?.collect()
}

fn open(origin: &Origin) -> Result<Open, Failure> {
    let forks = FORKS.load(Ordering::Relaxed);
    let devices = origin.devices()?;
    let image = reader::Image::open_with(boxed(&devices), reader::Options::default())?;
    Ok(Open { image: image.into(), devices, forks })
}

/// The address of an image on a server, if that is what an argument is.
fn address(source: &Bound<'_, PyAny>) -> Option<String> {
    source.extract::<String>().ok().filter(|text| is_address(text.as_bytes()))
}

fn boxed(devices: &[Arc<dyn ReadAt>]) -> Vec<Box<dyn ReadAt>> {
    devices.iter().map(|device| Box::new(Arc::clone(device)) as Box<dyn ReadAt>).collect()
}

fn open_devices(
    path: &Path,
    offset: u64,
    search: &Search,
) -> Result<Vec<Arc<dyn ReadAt>>, lith::Error> {
    let opened = FileDevice::open(path).map_err(|source| reader::Error::Open {
        path: Some(path.to_owned()),
        source: reader::OpenError::File(source),
    })?;
    let further = bases::find(path, offset, search)?;
    let further = further.into_iter().map(|found| Arc::new(found.device) as Arc<dyn ReadAt>);
    Ok([at_offset(opened, offset)].into_iter().chain(further).collect())
}

pub(crate) fn at_offset(device: impl ReadAt + 'static, offset: u64) -> Arc<dyn ReadAt> {
    match offset {
        0 => Arc::new(device),
        _ => Arc::new(OffsetDevice::new(device, offset)),
    }
}

/// The path of a name in a directory.
pub(crate) fn joined(directory: &Path, name: &[u8]) -> PathBuf {
    directory.join(std::ffi::OsStr::from_bytes(name))
}
