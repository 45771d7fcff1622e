//! Makes the backing files of passthrough, which the kernel reads without requests.
//!
//! The kernel can read an uncompressed file from another file that holds the same bytes (FUSE passthrough, Linux 6.9, root
//! only). If the image is on a filesystem that shares blocks between files (btrfs, XFS), such a file is made of the
//! image's own blocks, without a name and without copying them.

use std::{
    collections::{HashMap, hash_map::Entry},
    fs::File,
    io,
    os::{fd::OwnedFd, unix::fs::FileExt},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use fuser::{BackingId, INodeNo};
use lith_reader::{ExtentKind, Image, Inode, Place};
use rustix::fs::{Mode, OFlags, copy_file_range, ftruncate, ioctl_ficlone};

/// Shorter files are read by one request anyway.
const SHORTEST: u64 = 64 << 10;

/// The most extents of a file that is passed through: contiguous chunks count as one.
const EXTENTS: usize = 4096;

/// The file whose blocks backing files share.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImageFile {
    /// The file that holds the image.
    pub path: PathBuf,
    /// Its first byte there.
    pub offset: u64,
}

/// Files that share the image's blocks.
#[derive(Debug)]
pub(crate) struct Backing {
    image: File,
    offset: u64,
    folder: PathBuf,
    open: Mutex<HashMap<INodeNo, Opened>>,
}

/// A file that the kernel reads for as long as it is open.
#[derive(Debug)]
struct Opened {
    id: BackingId,
    times: usize,
}

impl Backing {
    /// Backing files for the image in `file`, if its filesystem can share blocks.
    pub(crate) fn new(file: &ImageFile) -> io::Result<Self> {
        let image = File::open(&file.path)?;
        let folder = file.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize()?;
        ioctl_ficlone(nameless(&folder)?, &image)?;
        Ok(Self { image, offset: file.offset, folder, open: Mutex::default() })
    }

    /// Calls `answer` with the backing file of `inode`, which stays until it is [closed](Self::close); false if there
    /// can't be one. `register` registers a file with the kernel.
    pub(crate) fn open(
        &self,
        (image, inode): (&Image, &Inode),
        number: INodeNo,
        register: impl FnOnce(&File) -> io::Result<BackingId>,
        answer: impl FnOnce(&BackingId),
    ) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = match open.entry(number) {
            Entry::Occupied(found) => found.into_mut(),
            Entry::Vacant(free) => {
                let made = self.share(image, inode).and_then(|file| register(&file).ok());
                let Some(id) = made else { return false };
                free.insert(Opened { id, times: 0 })
            }
        };
        opened.times += 1;
        answer(&opened.id);
        true
    }

    /// Notes that a file was closed once.
    pub(crate) fn close(&self, number: INodeNo) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = open.get_mut(&number) {
            opened.times -= 1;
            if opened.times == 0 {
                open.remove(&number);
            }
        }
    }

    /// A file with the bytes of `inode`, if they are contiguous.
    fn share(&self, image: &Image, inode: &Inode) -> Option<File> {
        let (start, length) = contiguous(image, inode)?;
        let file = File::from(nameless(&self.folder).ok()?);
        let (mut from, mut to) = (start.checked_add(self.offset)?, 0);
        while to < length {
            let left = usize::try_from(length - to).ok()?;
            // Whole blocks are shared, the rest is copied.
            match copy_file_range(&self.image, Some(&mut from), &file, Some(&mut to), left) {
                Ok(1..) => {}
                Ok(0) | Err(_) => return None,
            }
        }
        if length < inode.size {
            let mut tail = vec![0; usize::try_from(inode.size - length).ok()?];
            image.file(inode).ok()?.read_at(&mut tail, length).ok()?;
            file.write_all_at(&tail, length).ok()?;
        }
        ftruncate(&file, inode.size).ok()?;
        Some(file)
    }
}

/// Where the bytes of a file start on the primary device, and their number, which are all but an
/// inline tail. `None`: they are not contiguous.
fn contiguous(image: &Image, inode: &Inode) -> Option<(u64, u64)> {
    if inode.size < SHORTEST {
        return None;
    }
    let (mut start, mut length) = (None, 0);
    for (number, extent) in image.extents(inode).ok()?.enumerate() {
        let extent = extent.ok()?;
        match (extent.kind, extent.place) {
            (ExtentKind::Inline, _) => break,
            (
                ExtentKind::Flat | ExtentKind::Chunk | ExtentKind::Plain { interlaced: false },
                Place::Device(at),
            ) if at.device == 0 && number < EXTENTS => {
                if at.pa.0.checked_sub(*start.get_or_insert(at.pa.0)) != Some(length) {
                    return None;
                }
                length += extent.len;
            }
            _ => return None,
        }
    }
    start.filter(|_| length >= SHORTEST).map(|start| (start, length))
}

fn nameless(folder: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    Ok(rustix::fs::open(folder, flags, Mode::RUSR)?)
}
