//! When was something asked for last?

use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

/// How often is looked at most.
const SHORTEST: Duration = Duration::from_millis(100);

/// Counts requests.
#[derive(Debug, Default)]
pub(crate) struct Activity(AtomicU64);

impl Activity {
    /// A request came.
    pub(crate) fn note(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns as soon as none came for `idle`.
    pub(crate) fn wait_until_idle(&self, idle: Duration) {
        let pause = (idle / 8).max(SHORTEST);
        let (mut seen, mut since) = (self.count(), Instant::now());
        while since.elapsed() < idle {
            thread::sleep(pause);
            let count = self.count();
            if count != seen {
                (seen, since) = (count, Instant::now());
            }
        }
    }

    fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
