//! Locks a mutex whether or not a thread panicked while it held it.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks. No critical section of this crate leaves its data half changed, so a poisoned lock is as good as another.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
