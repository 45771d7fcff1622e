//! Defines [`Watch`], through which all threads report progress and learn that the examination was cancelled.

use std::sync::atomic::{AtomicBool, Ordering};

use lith_observer::{Observer, Phase};

/// The caller's observer. Once it cancelled, the examination stays cancelled.
pub(crate) struct Watch<'a> {
    pub(crate) observer: &'a dyn Observer,
    was_cancelled: AtomicBool,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(observer: &'a dyn Observer) -> Self {
        observer.begin(Phase::Checking);
        Self { observer, was_cancelled: AtomicBool::new(false) }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        let is_cancelled = self.was_cancelled() || self.observer.is_cancelled();
        if is_cancelled {
            self.was_cancelled.store(true, Ordering::Relaxed);
        }
        is_cancelled
    }

    /// Whether a thread stopped, so that the result is incomplete.
    pub(crate) fn was_cancelled(&self) -> bool {
        self.was_cancelled.load(Ordering::Relaxed)
    }
}
