//! Lists all directories below a root, in several threads.

use std::{
    num::NonZeroUsize,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use super::{
    beneath::Root,
    scan::{Listing, Scanner},
};
use crate::{Options, SourceError, limits::SCANNERS, note::Notes};

/// A directory to be listed.
struct Job {
    /// The number that its listing gets.
    number: usize,
    path: Box<[u8]>,
}

struct State {
    /// The last one is taken first, so that few wait at any time.
    jobs: Vec<Job>,
    listings: Vec<Listing>,
    busy: usize,
    failure: Option<SourceError>,
    notes: Notes,
}

struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

/// Lists the root, which gets number 0, and all directories below it.
pub(super) fn scan_all(
    root: &Root,
    options: &Options,
) -> Result<(Vec<Listing>, Notes), SourceError> {
    let start = Job { number: 0, path: Box::default() };
    let queue = Queue {
        state: Mutex::new(State {
            jobs: vec![start],
            listings: vec![Listing::default()],
            busy: 0,
            failure: None,
            notes: Notes::default(),
        }),
        changed: Condvar::new(),
    };
    let helpers = options.workers.min(NonZeroUsize::MIN.saturating_add(SCANNERS - 1));
    thread::scope(|scope| {
        for _ in 1..helpers.get() {
            // Without this thread the others do its work.
            let _ = lith_parallel::start(scope, || queue.work(root, options));
        }
        queue.work(root, options);
    });
    let state = queue.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    match state.failure {
        Some(failure) => Err(failure),
        None => Ok((state.listings, state.notes)),
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, root: &Root, options: &Options) {
        let mut scanner = Scanner::new(root, options);
        while let Some(job) = self.take() {
            let result = scanner.scan(&job.path);
            self.finish(&job, result);
        }
        self.lock().notes.merge(scanner.notes);
    }

    /// The next directory; `None` when all are listed or one failed.
    fn take(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if state.failure.is_some() {
                return None;
            }
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

    fn finish(&self, job: &Job, result: Result<Listing, SourceError>) {
        let mut state = self.lock();
        state.busy -= 1;
        match result {
            Ok(listing) => state.keep(job.number, listing),
            Err(error) => {
                state.failure.get_or_insert(error);
            }
        }
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
        self.jobs.extend(jobs.map(|(child, path)| Job { number: first + child, path }));
        if let Some(place) = self.listings.get_mut(number) {
            *place = listing;
        }
    }
}
