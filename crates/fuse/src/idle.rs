//! Waits until no requests arrive.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

/// The shortest time between two checks.
const SHORTEST: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
pub(crate) struct Activity(AtomicU64);

impl Activity {
    pub(crate) fn note(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns as soon as none arrived for `idle`.
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
