//! Does any file of the image have extended attributes?

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    thread,
};

use lith_format::file_type::FileType;
use lith_reader::{Error, Image, Inode};

/// Nobody looked.
const UNKNOWN: u8 = 0;
/// Somebody looks, or looked and found some.
const ASSUMED: u8 = 1;
/// There are none.
const ABSENT: u8 = 2;

/// The most inodes that are looked at: a second's work.
const MOST_INODES: u64 = 1 << 20;

/// What is known about extended attributes. Programs like `ls -l` ask for two of each file, and only one answer keeps
/// the kernel from passing that on: that there is no such thing. So the first time that something is asked for in
/// vain, a thread goes through all inodes.
#[derive(Debug, Default)]
pub(crate) struct Presence(AtomicU8);

impl Presence {
    /// Whether it is certain that no file has any.
    pub(crate) fn are_absent(&self) -> bool {
        self.0.load(Ordering::Relaxed) == ABSENT
    }

    /// Notes that one was asked for that is not there.
    pub(crate) fn missed(self: &Arc<Self>, image: &Arc<Image>) {
        if self.0.load(Ordering::Relaxed) != UNKNOWN
            || self.0.swap(ASSUMED, Ordering::Relaxed) != UNKNOWN
        {
            return;
        }
        let (presence, image) = (Arc::clone(self), Arc::clone(image));
        let look = move || {
            if matches!(has_any(&image), Ok(false)) {
                presence.0.store(ABSENT, Ordering::Relaxed);
            }
        };
        // Without the thread, each question goes on being answered.
        let _ = thread::Builder::new().name("xattrs".to_owned()).spawn(look);
    }
}

/// Whether an inode has extended attributes, as far as the image can be read.
fn has_any(image: &Image) -> Result<bool, Error> {
    if image.superblock().inos > MOST_INODES {
        return Ok(true);
    }
    let root = image.root()?;
    let (mut seen, mut waiting) = (HashSet::from([root.nid]), vec![root]);
    if has(&root) {
        return Ok(true);
    }
    while let Some(directory) = waiting.pop() {
        for entry in image.read_dir(&directory)? {
            let inode = image.inode(entry?.nid)?;
            if has(&inode) {
                return Ok(true);
            }
            if inode.file_type == FileType::Directory && seen.insert(inode.nid) {
                waiting.push(inode);
            }
        }
    }
    Ok(false)
}

fn has(inode: &Inode) -> bool {
    inode.xattr_size() != 0
}
