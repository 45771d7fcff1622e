//! Defines [`Report`], the totals of an export, and counts for it.

use std::{
    io,
    sync::atomic::{AtomicU64, Ordering},
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
    names: AtomicU64,
    bytes: AtomicU64,
    skipped: AtomicU64,
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
        Self {
            observer,
            names: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
        }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.observer.is_cancelled()
    }

    /// Counts names that were made.
    pub(crate) fn named(&self, names: u64) {
        self.names.fetch_add(names, Ordering::Relaxed);
    }

    /// Counts bytes of content that were written.
    pub(crate) fn advance(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.observer.advance(bytes);
    }

    /// Counts something that could not be kept.
    pub(crate) fn skipped(&self, path: &[u8], what: What, cause: Option<io::Error>) {
        self.skipped.fetch_add(1, Ordering::Relaxed);
        self.observer.skipped(&Skipped::new(path, what, cause));
    }

    pub(crate) fn report(&self) -> Report {
        Report {
            names: self.names.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            skipped: self.skipped.load(Ordering::Relaxed),
        }
    }
}
