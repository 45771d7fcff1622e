//! Lists all directories below a root, in several threads.

use std::{
    num::NonZeroUsize,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use super::scan::{Listing, Rules, Scanner};
use crate::{SourceError, limits::SCANNERS, note::Notes, prune::Fate};

/// A directory to be listed.
struct Job {
    /// The number that its listing gets.
    number: usize,
    path: Box<[u8]>,
    fate: Fate,
}

struct State {
    /// The last one is taken first, so that few wait at any time.
    jobs: Vec<Job>,
    listings: Vec<Listing>,
    busy: usize,
    failures: Vec<SourceError>,
    notes: Notes,
}

struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

/// Lists the root, which gets number 0, and all directories below it.
pub(super) fn scan_all(rules: &Rules<'_>) -> Result<(Vec<Listing>, Notes), SourceError> {
    let start = Job { number: 0, path: Box::default(), fate: Fate::Taken };
    let queue = Queue {
        state: Mutex::new(State {
            jobs: vec![start],
            listings: vec![Listing::default()],
            busy: 0,
            failures: Vec::new(),
            notes: Notes::default(),
        }),
        changed: Condvar::new(),
    };
    let helpers = rules.options.workers.min(NonZeroUsize::MIN.saturating_add(SCANNERS - 1));
    thread::scope(|scope| {
        for _ in 1..helpers.get() {
            // Without this thread the others do its work.
            let _ = lith_parallel::start(scope, || queue.work(rules));
        }
        queue.work(rules);
    });
    let state = queue.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    match SourceError::of_several(state.failures) {
        Some(failure) => Err(failure),
        None => Ok((state.listings, state.notes)),
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, rules: &Rules<'_>) {
        let mut scanner = Scanner::new(rules);
        while let Some(job) = self.take() {
            let listing = scanner.scan(&job.path, job.fate);
            self.finish(&job, listing);
        }
        let mut state = self.lock();
        state.notes.merge(scanner.notes);
        state.failures.extend(scanner.failures);
    }

    /// The next directory; `None` when all are listed.
    fn take(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop() {
                state.busy += 1;
                return Some(job);
            }
            if state.busy == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn finish(&self, job: &Job, listing: Listing) {
        let mut state = self.lock();
        state.busy -= 1;
        state.keep(job.number, listing);
        drop(state);
        self.changed.notify_all();
    }
}

impl State {
    fn keep(&mut self, number: usize, mut listing: Listing) {
        let subdirectories = std::mem::take(&mut listing.subdirectories);
        let first = self.listings.len();
        listing.first_child = first;
        self.listings.resize_with(first + subdirectories.len(), Listing::default);
        let jobs = subdirectories.into_iter().enumerate().rev();
        self.jobs.extend(jobs.map(|(child, (path, fate))| Job {
            number: first + child,
            path,
            fate,
        }));
        if let Some(place) = self.listings.get_mut(number) {
            *place = listing;
        }
    }
}
