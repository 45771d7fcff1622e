//! Which pieces that were read lately are still at hand?

use std::{
    collections::{HashMap, VecDeque},
    hash::{BuildHasher, Hash, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Bytes that several readers hold at once.
pub(crate) type Bytes = Arc<Vec<u8>>;

/// A bounded store of pieces. The lock of a shard is held for look-ups only, never while a piece is
/// read; a piece that several threads want at once is read by one of them while the others wait.
#[derive(Debug)]
pub(crate) struct Cache<K> {
    shards: Box<[Mutex<Shard<K>>]>,
    hasher: RandomState,
    /// Bytes that a shard may hold.
    budget: usize,
}

#[derive(Debug)]
struct Shard<K> {
    entries: HashMap<K, Entry>,
    /// Ready pieces in the order in which they are thought of for eviction.
    queue: VecDeque<K>,
    bytes: usize,
    /// What an evicted piece was in, for the next one: memory that is new costs more than decoding into it.
    spare: Vec<u8>,
}

#[derive(Debug)]
enum Entry {
    /// Some thread reads it and holds the lock meanwhile.
    Loading(Arc<Mutex<Option<Bytes>>>),
    /// At hand; `used` since it was last thought of for eviction.
    Ready { bytes: Bytes, used: bool },
}

impl<K: Hash + Eq + Copy> Cache<K> {
    /// A store of about `budget` bytes in `shards` parts that are locked apart.
    pub(crate) fn new(budget: usize, shards: usize) -> Self {
        let shards = shards.max(1);
        Self {
            shards: (0..shards).map(|_| Mutex::new(Shard::new())).collect(),
            hasher: RandomState::new(),
            budget: budget / shards,
        }
    }

    /// The piece `key` of `length` bytes; `load` fills it unless it is at hand.
    pub(crate) fn get_or_load<E>(
        &self,
        key: K,
        length: usize,
        load: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<Bytes, E> {
        let slot = match self.shard(key).find(key) {
            Ok(bytes) => return Ok(bytes),
            Err(slot) => slot,
        };
        let mut loaded = lock(&slot);
        if let Some(bytes) = &*loaded {
            return Ok(Arc::clone(bytes));
        }
        let mut bytes = self.shard(key).buffer(length);
        match load(&mut bytes) {
            Ok(()) => {
                let bytes = Arc::new(bytes);
                *loaded = Some(Arc::clone(&bytes));
                self.shard(key).keep(key, &bytes, self.budget);
                Ok(bytes)
            }
            Err(error) => {
                self.shard(key).forget(key, &slot);
                Err(error)
            }
        }
    }

    /// The piece `key` if it is at hand.
    pub(crate) fn get(&self, key: K) -> Option<Bytes> {
        match self.shard(key).entries.get_mut(&key) {
            Some(Entry::Ready { bytes, used }) => {
                *used = true;
                Some(Arc::clone(bytes))
            }
            _ => None,
        }
    }

    #[expect(clippy::indexing_slicing, reason = "a remainder of the number of shards, never 0")]
    fn shard(&self, key: K) -> MutexGuard<'_, Shard<K>> {
        let hash = self.hasher.hash_one(key);
        let index = hash % self.shards.len() as u64;
        lock(&self.shards[usize::try_from(index).unwrap_or(0)])
    }
}

impl<K: Hash + Eq + Copy> Shard<K> {
    fn new() -> Self {
        Self { entries: HashMap::new(), queue: VecDeque::new(), bytes: 0, spare: Vec::new() }
    }

    /// The piece, or where it will be once it is read.
    fn find(&mut self, key: K) -> Result<Bytes, Arc<Mutex<Option<Bytes>>>> {
        let entry = self.entries.entry(key).or_insert_with(|| Entry::Loading(Arc::default()));
        match entry {
            Entry::Loading(slot) => Err(Arc::clone(slot)),
            Entry::Ready { bytes, used } => {
                *used = true;
                Ok(Arc::clone(bytes))
            }
        }
    }

    fn keep(&mut self, key: K, bytes: &Bytes, budget: usize) {
        let ready = Entry::Ready { bytes: Arc::clone(bytes), used: false };
        match self.entries.insert(key, ready) {
            // Two threads can have read it if the first one's piece was evicted at once.
            Some(Entry::Ready { bytes: old, .. }) => self.bytes -= old.len(),
            _ => self.queue.push_back(key),
        }
        self.bytes += bytes.len();
        while self.bytes > budget && self.evict() {}
    }

    /// Passes over or drops the piece that has waited longest; false if there is none.
    fn evict(&mut self) -> bool {
        let Some(key) = self.queue.pop_front() else { return false };
        match self.entries.get_mut(&key) {
            Some(Entry::Ready { used: used @ true, .. }) => {
                *used = false;
                self.queue.push_back(key);
            }
            _ => self.drop_piece(key),
        }
        true
    }

    fn drop_piece(&mut self, key: K) {
        if let Some(Entry::Ready { bytes, .. }) = self.entries.remove(&key) {
            self.bytes -= bytes.len();
            self.spare = Arc::into_inner(bytes).unwrap_or_default();
        }
    }

    /// A buffer of `length` bytes, whatever they are.
    fn buffer(&mut self, length: usize) -> Vec<u8> {
        let mut spare = std::mem::take(&mut self.spare);
        // A piece must not keep much more memory than is counted.
        if (length..=length.saturating_mul(2)).contains(&spare.capacity()) {
            spare.resize(length, 0);
            return spare;
        }
        vec![0; length]
    }

    /// Lets the next reader try again.
    fn forget(&mut self, key: K, slot: &Arc<Mutex<Option<Bytes>>>) {
        if let Some(Entry::Loading(found)) = self.entries.get(&key)
            && Arc::ptr_eq(found, slot)
        {
            self.entries.remove(&key);
        }
    }
}

/// Locks; a thread that panicked left nothing half done in what is locked here.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn pieces_are_read_once_and_failures_again() {
        let cache = Cache::new(100, 1);
        let failed: Result<Bytes, u8> = cache.get_or_load(1, 10, |_| Err(7));
        assert_eq!(failed, Err(7));
        let read: Result<Bytes, u8> = cache.get_or_load(1, 10, |_| Ok(()));
        assert_eq!(read.unwrap().len(), 10);
        let again: Result<Bytes, u8> = cache.get_or_load(1, 10, |_| Err(8));
        assert_eq!(again.unwrap().len(), 10);
        assert!(cache.get(1).is_some());
        assert!(cache.get(2).is_none());
    }

    #[test]
    fn the_budget_holds_and_used_pieces_stay_longer() {
        let cache = Cache::new(100, 1);
        for key in 0..1000_u32 {
            let _: Result<Bytes, ()> = cache.get_or_load(key, 10, |_| Ok(()));
            assert!(cache.get(0).is_some() || key > 20, "piece 0 went though it is in use");
            let shard = lock(&cache.shards[0]);
            assert!(shard.bytes <= 100);
            assert_eq!(shard.entries.len(), shard.queue.len());
        }
        let _: Result<Bytes, ()> = cache.get_or_load(5000, 1000, |_| Ok(()));
        assert!(lock(&cache.shards[0]).bytes <= 100);
    }

    #[test]
    fn many_threads_read_a_piece_once() {
        let (cache, reads) = (Cache::new(1 << 20, 4), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for key in 0..100_u32 {
                        let got: Result<Bytes, ()> = cache.get_or_load(key, 16, |_| {
                            reads.fetch_add(1, Ordering::Relaxed);
                            Ok(())
                        });
                        assert_eq!(got.unwrap().len(), 16);
                    }
                });
            }
        });
        assert_eq!(reads.load(Ordering::Relaxed), 100);
    }
}
