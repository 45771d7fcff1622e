//! Defines the loads under way, so that threads that need the same piece at once load it once.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex},
};

use super::policy::Bytes;

/// Where the thread that loads a piece stores it. That thread holds the lock meanwhile, so locking waits for the load.
pub(super) type Slot = Arc<Mutex<Option<Bytes>>>;

/// The loads under way in one shard.
#[derive(Debug, Default)]
pub(super) struct Flights<K> {
    slots: HashMap<K, Slot>,
}

impl<K: Hash + Eq + Copy> Flights<K> {
    /// The slot of the load of `key`, a new one if there is none.
    pub(super) fn join(&mut self, key: K) -> Slot {
        Arc::clone(self.slots.entry(key).or_default())
    }

    /// Ends the load of `key` through this slot: who comes later finds another one.
    pub(super) fn end(&mut self, key: K, slot: &Slot) {
        if self.slots.get(&key).is_some_and(|found| Arc::ptr_eq(found, slot)) {
            self.slots.remove(&key);
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Threads that wait for the load of `key`, with the one that does it.
    #[cfg(test)]
    pub(super) fn threads(&self, key: K) -> usize {
        self.slots.get(&key).map_or(0, |slot| Arc::strong_count(slot) - 1)
    }
}
