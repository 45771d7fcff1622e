//! Defines a bounded set of the keys added last.

use std::{
    collections::{HashSet, VecDeque},
    hash::Hash,
};

/// The keys added last.
#[derive(Debug, Default)]
pub(super) struct Recent<K> {
    /// The oldest first.
    order: VecDeque<K>,
    known: HashSet<K>,
}

impl<K: Hash + Eq + Copy> Recent<K> {
    pub(super) fn contains(&self, key: &K) -> bool {
        self.known.contains(key)
    }

    /// Adds a key, and forgets the oldest ones beyond `limit`.
    pub(super) fn add(&mut self, key: K, limit: usize) {
        if self.known.insert(key) {
            self.order.push_back(key);
        }
        while self.order.len() > limit {
            if let Some(oldest) = self.order.pop_front() {
                self.known.remove(&oldest);
            }
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }
}
