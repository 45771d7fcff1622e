//! Finds out whether any inode of an image has extended attributes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    thread,
};

use lith_reader::{Error, Image, Inode};

/// The image was not searched.
const UNKNOWN: u8 = 0;
/// It is being searched, or has extended attributes.
const ASSUMED: u8 = 1;
/// It has none.
const ABSENT: u8 = 2;

/// The most inodes that are searched: a second's work.
const MOST_INODES: u64 = 1 << 20;

/// Whether any inode has extended attributes. Programs like `ls -l` request two of each file, and the kernel passes each
/// request on unless the reply to one is that there are no extended attributes at all. So after the first request for
/// one that doesn't exist, a thread searches all inodes.
#[derive(Debug, Default)]
pub(crate) struct Presence(AtomicU8);

impl Presence {
    /// Whether no inode has any, for certain.
    pub(crate) fn are_absent(&self) -> bool {
        self.0.load(Ordering::Relaxed) == ABSENT
    }

    /// Notes a request for one that doesn't exist.
    pub(crate) fn missed(self: &Arc<Self>, image: &Arc<Image>) {
        if self.0.load(Ordering::Relaxed) != UNKNOWN
            || self.0.swap(ASSUMED, Ordering::Relaxed) != UNKNOWN
        {
            return;
        }
        let (presence, image) = (Arc::clone(self), Arc::clone(image));
        let search = move || {
            if matches!(has_any(&image), Ok(false)) {
                presence.0.store(ABSENT, Ordering::Relaxed);
            }
        };
        // Without the thread, each request is still answered.
        let _ = thread::Builder::new().name("xattrs".to_owned()).spawn(search);
    }
}

/// Whether an inode has extended attributes, as far as the image can be read.
fn has_any(image: &Image) -> Result<bool, Error> {
    if image.superblock().inos > MOST_INODES {
        return Ok(true);
    }
    if has(&image.root()?) {
        return Ok(true);
    }
    for entry in image.files() {
        if has(&entry?.inode) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn has(inode: &Inode) -> bool {
    inode.xattr_size() != 0
}
