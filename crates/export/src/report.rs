//! Defines [`Report`], the totals of an export, and counts for it.

use std::{
    io,
    sync::{Mutex, MutexGuard, PoisonError},
};

use lith_observer::Phase;
use lith_tree::Tree;

use crate::{
    Selection,
    observer::{ExportObserver, Skipped, What},
};

/// The totals of an export.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// Names made, directories included.
    pub names: u64,
    /// Bytes of regular files written, holes included, hard links counted once.
    pub bytes: u64,
    /// Things that could not be kept; the observer received each.
    pub skipped: u64,
}

/// Counts for a [`Report`] and calls an observer, from any thread.
pub(crate) struct Counter<'a> {
    observer: &'a dyn ExportObserver,
    totals: Mutex<Report>,
}

impl<'a> Counter<'a> {
    /// Starts to count, and announces the bytes of the selected part of `tree`.
    pub(crate) fn start(
        observer: &'a dyn ExportObserver,
        tree: &Tree,
        selection: &Selection,
    ) -> Self {
        observer.begin(Phase::Extracting);
        observer.expect(selection.content_bytes(tree));
        Self { observer, totals: Mutex::default() }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.observer.is_cancelled()
    }

    pub(crate) fn named(&self, names: u64) {
        self.totals().names += names;
    }

    pub(crate) fn advance(&self, bytes: u64) {
        let mut totals = self.totals();
        totals.bytes = totals.bytes.saturating_add(bytes);
        drop(totals);
        self.observer.advance(bytes);
    }

    pub(crate) fn skipped(&self, path: &[u8], what: What, cause: Option<io::Error>) {
        self.totals().skipped += 1;
        self.observer.skipped(&Skipped::new(path, what, cause));
    }

    pub(crate) fn report(&self) -> Report {
        *self.totals()
    }

    fn totals(&self) -> MutexGuard<'_, Report> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
