//! Defines [`Watch`], through which all threads report progress and learn that the examination was cancelled.

use std::sync::atomic::{AtomicBool, Ordering};

use lith_observer::{Observer, Phase};

/// The caller's observer. Once it cancelled, the examination stays cancelled.
pub(crate) struct Watch<'a> {
    observer: &'a dyn Observer,
    is_cancelled: AtomicBool,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(observer: &'a dyn Observer) -> Self {
        observer.begin(Phase::Checking);
        Self { observer, is_cancelled: AtomicBool::new(false) }
    }

    /// The bytes that are read or decoded in all.
    pub(crate) fn expect(&self, bytes: u64) {
        self.observer.expect(bytes);
    }

    /// `bytes` more bytes were read or decoded.
    pub(crate) fn advance(&self, bytes: u64) {
        self.observer.advance(bytes);
    }

    /// Whether to stop.
    pub(crate) fn is_cancelled(&self) -> bool {
        if self.is_cancelled.load(Ordering::Relaxed) {
            return true;
        }
        let is_cancelled = self.observer.is_cancelled();
        if is_cancelled {
            self.is_cancelled.store(true, Ordering::Relaxed);
        }
        is_cancelled
    }

    /// Whether a thread was told to stop, so that its work is incomplete.
    pub(crate) fn was_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }
}
