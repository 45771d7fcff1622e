//! Compares two trees in several threads, and passes differences on in the order of the walk.
//!
//! Each worker takes the next files of the common walk, which compares attributes on the way, then compares bytes. Its
//! findings go to the outlet under the number of the work; the outlet passes them on when all lower numbers have been passed on.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use lith_observer::{Observer, Phase};

use super::{
    DiffError, DiffOptions, Difference,
    content::{self, Buffers},
    pairs::Sides,
    walk::{Found, Walk, bytes_to_compare},
};
use crate::{Filesystem, InodeIndex};

type Visit<'a> = dyn FnMut(Difference) + Send + 'a;

pub(super) fn compare(
    fs: Sides<Filesystem<'_>>,
    options: &DiffOptions,
    observer: &dyn Observer,
    visit: &mut Visit<'_>,
) -> Result<(), DiffError> {
    let trees = Sides { left: fs.left.tree, right: fs.right.tree };
    observer.begin(Phase::Comparing);
    observer.expect(bytes_to_compare(trees, options.ignore));
    let comparison = Comparison {
        fs,
        observer,
        walk: Mutex::new(Walk::new(trees, options.ignore)),
        outlet: Mutex::new(Outlet::new(visit)),
        stopped: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        for _ in 1..options.workers.get() {
            // Without this thread the others do its work.
            let _ = lith_parallel::start(scope, || comparison.work());
        }
        comparison.work();
    });
    let outlet = comparison.outlet.into_inner();
    outlet.unwrap_or_else(PoisonError::into_inner).result
}

/// What all workers share.
struct Comparison<'a, 'v> {
    fs: Sides<Filesystem<'a>>,
    observer: &'a dyn Observer,
    walk: Mutex<Walk<'a>>,
    outlet: Mutex<Outlet<'v>>,
    stopped: AtomicBool,
}

impl Comparison<'_, '_> {
    fn work(&self) {
        let mut buffers = Buffers::new();
        while !self.stopped.load(Ordering::Relaxed) {
            let next = lock(&self.walk).next();
            let Some((number, found)) = next else { return };
            let outcome = self.finish(found, &mut buffers);
            if !lock(&self.outlet).take(number, outcome) {
                self.stopped.store(true, Ordering::Relaxed);
            }
        }
    }

    fn finish(&self, found: Found, buffers: &mut Buffers) -> Outcome {
        let Found { differences, segment } = found;
        if self.observer.is_cancelled() {
            return Outcome { differences, content: Err(DiffError::Cancelled) };
        }
        let Some((segment, path)) = segment else {
            return Outcome { differences, content: Ok(None) };
        };
        let content = content::compare(self.fs, &segment, buffers);
        self.observer.advance(segment.range.end - segment.range.start);
        let content =
            content.map(|change| change.map(|change| (segment.files, Difference { path, change })));
        Outcome { differences, content }
    }
}

/// Locks data that stays valid when a thread panics while it holds the lock; the scope passes the panic on.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a worker found.
struct Outcome {
    differences: Vec<Difference>,
    content: Result<Option<(Sides<InodeIndex>, Difference)>, DiffError>,
}

/// Passes on what workers found, in the order of the walk.
struct Outlet<'v> {
    visit: &'v mut Visit<'v>,
    next: u64,
    waiting: BTreeMap<u64, Outcome>,
    /// The last files whose content was reported as different; a file is reported once, not for each segment.
    differing: Option<Sides<InodeIndex>>,
    result: Result<(), DiffError>,
}

impl<'v> Outlet<'v> {
    fn new(visit: &'v mut Visit<'v>) -> Self {
        Self { visit, next: 0, waiting: BTreeMap::new(), differing: None, result: Ok(()) }
    }

    /// Takes what was found; returns whether the comparison goes on.
    fn take(&mut self, number: u64, outcome: Outcome) -> bool {
        self.waiting.insert(number, outcome);
        while self.result.is_ok() {
            let Some(outcome) = self.waiting.remove(&self.next) else {
                break;
            };
            self.next += 1;
            self.pass_on(outcome);
        }
        self.result.is_ok()
    }

    fn pass_on(&mut self, outcome: Outcome) {
        outcome.differences.into_iter().for_each(&mut *self.visit);
        match outcome.content {
            Ok(Some((files, difference))) => {
                if self.differing.replace(files) != Some(files) {
                    (self.visit)(difference);
                }
            }
            Ok(None) => {}
            Err(error) => self.result = Err(error),
        }
    }
}
