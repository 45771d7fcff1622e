//! Defines [`Observer`], through which building, checking, extracting and comparing report their progress and are
//! cancelled, and [`Progress`], which keeps what was reported for another thread to read.
#![forbid(unsafe_code)]

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

/// What long work is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Nothing has been reported yet.
    #[default]
    Starting,
    /// The source is listed.
    Scanning,
    /// File content is read, compressed and written.
    Storing,
    /// The finished image is read back and compared with its source.
    Verifying,
    /// The image's structure and data are checked.
    Checking,
    /// Files are written to a directory or an archive.
    Extracting,
    /// Two trees are compared.
    Comparing,
}

/// Follows long work and can cancel it. Every method has a default that does nothing; `()` follows nothing and never
/// cancels.
///
/// All methods may be called from several threads at once, often: they should return quickly.
pub trait Observer: Sync {
    /// A phase begins; the bytes reported from now on count for it, from 0.
    fn begin(&self, _phase: Phase) {}

    /// The bytes of the current phase in all are now known to be `bytes`.
    fn expect(&self, _bytes: u64) {}

    /// `bytes` more bytes of file content are done, holes included.
    fn advance(&self, _bytes: u64) {}

    /// Polled between units of work: whether the work should stop. It then returns an error that says so.
    fn is_cancelled(&self) -> bool {
        false
    }
}

impl Observer for () {}

/// An [`Observer`] that keeps what was reported, for another thread to show or to cancel the work.
#[derive(Debug, Default)]
pub struct Progress {
    phase: Mutex<Phase>,
    done: AtomicU64,
    total: AtomicU64,
    cancelled: AtomicBool,
}

impl Progress {
    /// The current phase.
    #[must_use]
    pub fn phase(&self) -> Phase {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes done in the current phase.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Bytes of the current phase in all; 0 while unknown.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// Asks the work to stop.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

impl Observer for Progress {
    fn begin(&self, phase: Phase) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
        self.done.store(0, Ordering::Relaxed);
        self.total.store(0, Ordering::Relaxed);
    }

    fn expect(&self, bytes: u64) {
        self.total.store(bytes, Ordering::Relaxed);
    }

    fn advance(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_phase_counts_from_zero_and_cancelling_stays() {
        let progress = Progress::default();
        assert_eq!((progress.phase(), progress.total()), (Phase::Starting, 0));
        for phase in [Phase::Scanning, Phase::Storing, Phase::Comparing] {
            progress.begin(phase);
            progress.expect(9);
            progress.advance(3);
            progress.advance(4);
            assert_eq!((progress.phase(), progress.done(), progress.total()), (phase, 7, 9));
        }
        assert!(!progress.is_cancelled() && !().is_cancelled());
        progress.cancel();
        progress.begin(Phase::Checking);
        assert!(progress.is_cancelled());
    }
}
