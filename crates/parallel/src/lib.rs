//! Works in several threads, or in fewer where the system starts no more.
//!
//! Defines [`try_map`], which works on the items of a list and returns results in the list's order, and [`start`], which all
//! threads of other crates are started with.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

use std::{
    num::NonZeroUsize,
    panic::resume_unwind,
    sync::atomic::{AtomicUsize, Ordering},
    thread::{self, Scope, ScopedJoinHandle},
};

/// Starts a thread in `scope`. `None`: the system starts no more (`RLIMIT_NPROC`, `pids.max`, memory), and the caller goes on
/// without it.
#[must_use = "a thread may be missing"]
pub fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, T>> {
    thread::Builder::new().spawn_scoped(scope, work).ok()
}

/// Calls `work` for every item, in at most `workers` threads at once, each with its own `state`, and returns the results in
/// the order of the items.
///
/// Threads take items in order and don't start another one after a failure.
///
/// # Errors
/// The error of the first item in the list that has one, whatever the number of workers.
///
/// # Panics
/// If `work` panics, with the same payload.
pub fn try_map<T, S, R, E>(
    items: &[T],
    workers: NonZeroUsize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E>
where
    T: Sync,
    R: Send,
    E: Send,
{
    let next = AtomicUsize::new(0);
    let run = || {
        let (mut state, mut done) = (state(), Vec::new());
        while let Some((number, item)) = take(items, &next) {
            let result = work(&mut state, item);
            if result.is_err() {
                // Items with lower numbers were taken before this one, so the first error is still found.
                next.fetch_max(items.len(), Ordering::Relaxed);
            }
            done.push((number, result));
        }
        done
    };
    let done = thread::scope(|scope| {
        let helpers = workers.get().min(items.len()).saturating_sub(1);
        let helpers: Vec<_> = (0..helpers).map_while(|_| start(scope, run)).collect();
        let mut done = run();
        for helper in helpers {
            done.extend(helper.join().unwrap_or_else(|payload| resume_unwind(payload)));
        }
        done
    });
    let mut results: Vec<Option<Result<R, E>>> = Vec::new();
    results.resize_with(items.len(), || None);
    for (number, result) in done {
        if let Some(slot) = results.get_mut(number) {
            *slot = Some(result);
        }
    }
    results.into_iter().flatten().collect()
}

fn take<'a, T>(items: &'a [T], next: &AtomicUsize) -> Option<(usize, &'a T)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    items.get(number).map(|item| (number, item))
}

#[cfg(test)]
mod tests {
    use std::{panic, sync::Mutex};

    use super::*;

    const WORKERS: [NonZeroUsize; 3] = [
        NonZeroUsize::MIN,
        NonZeroUsize::MIN.saturating_add(1),
        NonZeroUsize::MIN.saturating_add(6),
    ];

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<u32> = (0..1000).collect();
        for workers in WORKERS {
            let doubled = try_map(&items, workers, || (), |(), item| Ok::<_, ()>(item * 2));
            assert!(doubled.unwrap().into_iter().eq((0..1000).map(|item| item * 2)));
            let none = try_map(&[], workers, || (), |(), item: &u32| Err::<(), _>(*item));
            assert_eq!(none, Ok(Vec::new()));
        }
    }

    #[test]
    fn the_first_error_in_the_list_is_returned_and_little_is_done_after_it() {
        let items: Vec<u32> = (0..100_000).collect();
        for workers in WORKERS {
            let calls = Mutex::new(0_u32);
            let result = try_map(
                &items,
                workers,
                || (),
                |(), item| {
                    *calls.lock().unwrap() += 1;
                    if *item >= 50 { Err(*item) } else { Ok(()) }
                },
            );
            assert_eq!(result, Err(50));
            assert!(*calls.lock().unwrap() <= 51 + 7, "{calls:?}");
        }
    }

    #[test]
    fn every_thread_has_one_state_and_panics_are_passed_on() {
        let items = [(); 100];
        for workers in WORKERS {
            let states = Mutex::new(0);
            let state = || *states.lock().unwrap() += 1;
            try_map(&items, workers, state, |(), ()| Ok::<_, ()>(())).unwrap();
            assert_eq!(*states.lock().unwrap(), workers.get());
            let panicked = panic::catch_unwind(|| {
                let work = |(): &mut (), (): &()| -> Result<(), ()> { panic!("at work") };
                try_map(&items, workers, || (), work)
            });
            assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"at work"));
        }
    }
}
