//! Keeps a decoder's state from one stream to the next, one for each thread.

use std::cell::Cell;
use std::thread::LocalKey;

/// What a thread keeps: one state, none while it is in use.
pub(crate) type Kept<S> = Cell<Option<S>>;

/// Runs `work` with this thread's state, which `new` makes if there is none; `keep` returns whether it stays.
pub(crate) fn with<S, T>(
    kept: &'static LocalKey<Kept<S>>,
    new: impl FnOnce() -> Option<S>,
    keep: impl FnOnce(&S) -> bool,
    work: impl FnOnce(&mut S) -> Option<T>,
) -> Option<T> {
    let mut state = kept.take().or_else(new)?;
    let done = work(&mut state);
    if keep(&state) {
        kept.set(Some(state));
    }
    done
}
