//! Defines `DirEntry`, a name in a directory, and turns inodes into `os.stat_result`.

use std::{
    ffi::OsString,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
};

use lith::{
    format::{addr::Nid, file_type::FileType, inode::InodeData},
    reader::{self, Error, Inode},
};
use pyo3::{
    prelude::*,
    sync::PyOnceLock,
    types::{PyDict, PyType},
};

use crate::{
    error::of_reader,
    image::{Image, joined},
    path::{find, leads_nowhere},
};

/// A name in a directory, as `os.scandir` returns them. What the directory itself tells takes no further reads.
#[pyclass(frozen, module = "lith._lith")]
pub(crate) struct DirEntry {
    image: Py<Image>,
    name: OsString,
    path: PathBuf,
    nid: Nid,
    file_type: Option<FileType>,
}

impl DirEntry {
    pub(crate) fn new(image: &Bound<'_, Image>, directory: &Path, entry: reader::DirEntry) -> Self {
        let path = joined(directory, &entry.name);
        let (nid, file_type) = (entry.nid, entry.file_type);
        let name = OsString::from_vec(entry.name);
        Self { image: image.clone().unbind(), name, path, nid, file_type }
    }

    fn inode_itself(&self, py: Python<'_>) -> PyResult<(lith::Image, Inode)> {
        let image = self.image.get().image(py)?;
        let inode = py.detach(|| image.inode(self.nid));
        let inode = inode.map_err(|error| of_reader(py, &error, &self.path))?;
        Ok((image, inode))
    }

    fn inode_followed(&self, py: Python<'_>) -> PyResult<(lith::Image, Inode)> {
        if !self.is_symlink(py)? {
            return self.inode_itself(py);
        }
        let (image, inode) = self.target(py)?;
        let inode = inode.map_err(|error| of_reader(py, &error, &self.path))?;
        Ok((image, inode))
    }

    /// What the path leads to.
    fn target(&self, py: Python<'_>) -> PyResult<(lith::Image, Result<Inode, Error>)> {
        let image = self.image.get().image(py)?;
        let inode = py.detach(|| find(&image, &self.path, true));
        Ok((image, inode))
    }

    /// Whether it is of this type. A link that leads nowhere is of none.
    fn is(&self, py: Python<'_>, wanted: FileType, follow: bool) -> PyResult<bool> {
        let own = match self.file_type {
            Some(file_type) => file_type,
            None => self.inode_itself(py)?.1.file_type,
        };
        if !follow || own != FileType::Symlink {
            return Ok(own == wanted);
        }
        match self.target(py)?.1 {
            Ok(inode) => Ok(inode.file_type == wanted),
            Err(error) if leads_nowhere(&error) => Ok(false),
            Err(error) => Err(of_reader(py, &error, &self.path)),
        }
    }
}

#[pymethods]
impl DirEntry {
    /// The name.
    #[getter]
    fn name(&self) -> &OsString {
        &self.name
    }

    /// The path: that of the directory with the name.
    #[getter]
    fn path(&self) -> &std::ffi::OsStr {
        self.path.as_os_str()
    }

    /// The number of the inode: its NID.
    const fn inode(&self) -> u64 {
        self.nid.0
    }

    /// Whether it is a directory, or a link to one.
    #[pyo3(signature = (*, follow_symlinks = true))]
    fn is_dir(&self, py: Python<'_>, follow_symlinks: bool) -> PyResult<bool> {
        self.is(py, FileType::Directory, follow_symlinks)
    }

    /// Whether it is a regular file, or a link to one.
    #[pyo3(signature = (*, follow_symlinks = true))]
    fn is_file(&self, py: Python<'_>, follow_symlinks: bool) -> PyResult<bool> {
        self.is(py, FileType::Regular, follow_symlinks)
    }

    /// Whether it is a symbolic link.
    fn is_symlink(&self, py: Python<'_>) -> PyResult<bool> {
        self.is(py, FileType::Symlink, false)
    }

    /// The attributes.
    #[pyo3(signature = (*, follow_symlinks = true))]
    fn stat<'py>(&self, py: Python<'py>, follow_symlinks: bool) -> PyResult<Bound<'py, PyAny>> {
        let (image, inode) =
            if follow_symlinks { self.inode_followed(py)? } else { self.inode_itself(py)? };
        stat(py, &image, &inode)
    }

    fn __repr__(&self) -> String {
        format!("<DirEntry {}>", self.name.display())
    }
}

/// The attributes of an inode, as an `os.stat_result`. All its times are that of the last modification.
pub(crate) fn stat<'py>(
    py: Python<'py>,
    image: &reader::Image,
    inode: &Inode,
) -> PyResult<Bound<'py, PyAny>> {
    static RESULT: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    const DEVICE: u8 = 0;
    let (sec, nsec) = (inode.mtime, inode.mtime_nsec);
    let head = (inode.mode, inode.nid.0, DEVICE, inode.nlink, inode.uid, inode.gid, inode.size);
    let (mode, ino, dev, nlink, uid, gid, size) = head;
    let fields = PyDict::new(py);
    // The nearest number of floating point, as `os.stat` has it.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a moment to a microsecond or so, as everywhere in Python"
    )]
    let seconds = sec as f64 + f64::from(nsec) * 1e-9;
    let nanoseconds = i128::from(sec) * 1_000_000_000 + i128::from(nsec);
    for name in ["st_atime", "st_mtime", "st_ctime"] {
        fields.set_item(name, seconds)?;
    }
    for name in ["st_atime_ns", "st_mtime_ns", "st_ctime_ns"] {
        fields.set_item(name, nanoseconds)?;
    }
    fields.set_item("st_blksize", image.superblock().block.size())?;
    fields.set_item("st_blocks", size.div_ceil(512))?;
    fields.set_item("st_rdev", rdev(inode))?;
    let class = RESULT.import(py, "os", "stat_result")?;
    class.call1(((mode, ino, dev, nlink, uid, gid, size, sec, sec, sec), fields))
}

/// The device number as `os.makedev` makes it on Linux.
fn rdev(inode: &Inode) -> u64 {
    let InodeData::Device(rdev) = inode.data else { return 0 };
    let (major, minor) = (u64::from(rdev.major), u64::from(rdev.minor));
    (major & !0xfff) << 32 | (major & 0xfff) << 8 | (minor & !0xff) << 12 | minor & 0xff
}
