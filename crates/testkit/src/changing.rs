//! Contents of files that change while they are read.

use std::sync::atomic::{AtomicU64, Ordering};

use lith::tree::{Content, ContentError, Contents, DataRange, InodeIndex, Tree};

/// Contents that do something when so many reads have been made.
pub struct Changing<F> {
    inner: Box<dyn Contents>,
    reads: AtomicU64,
    after: u64,
    change: F,
}

impl<F: Fn() + Send + Sync> Changing<F> {
    /// Calls `change` before read number `after`, counted from 0.
    pub fn new(inner: Box<dyn Contents>, after: u64, change: F) -> Self {
        Self { inner, reads: AtomicU64::new(0), after, change }
    }

    fn count(&self) {
        if self.reads.fetch_add(1, Ordering::SeqCst) == self.after {
            (self.change)();
        }
    }
}

impl<F: Fn() + Send + Sync> Contents for Changing<F> {
    fn open(&self, tree: &Tree, inode: InodeIndex) -> Result<Box<dyn Content + '_>, ContentError> {
        let inner = self.inner.open(tree, inode)?;
        Ok(Box::new(ChangingContent { inner, count: Box::new(|| self.count()) }))
    }
}

struct ChangingContent<'a> {
    inner: Box<dyn Content + 'a>,
    count: Box<dyn Fn() + Send + Sync + 'a>,
}

impl Content for ChangingContent<'_> {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), ContentError> {
        (self.count)();
        self.inner.read_at(buf, position)
    }

    fn range_at(&self, position: u64) -> Result<DataRange, ContentError> {
        self.inner.range_at(position)
    }

    fn check_unchanged(&self) -> Result<(), ContentError> {
        self.inner.check_unchanged()
    }
}
