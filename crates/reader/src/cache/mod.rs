//! Which pieces that were read or decoded lately are still in memory?
//!
//! [`Cache`] finds a piece by its key; a piece found has at least as many bytes as requested. `policy` decides which pieces
//! are kept, `flight` lets one thread load what several need, `spares` reuses the memory of dropped pieces.

mod flight;
mod policy;
mod recent;
mod spares;

use std::{
    hash::{BuildHasher, Hash, RandomState},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering},
    },
};

pub(crate) use self::policy::Bytes;
use self::{
    flight::{Flights, Slot},
    policy::Queues,
    recent::Recent,
    spares::Spares,
};
use crate::lock::lock;

/// Hashes of requested keys that are remembered in all shards together.
const REQUESTED: usize = 1 << 15;

/// A bounded store of pieces. The lock of a shard is held for look-ups only, never while a piece is loaded; a piece that
/// several threads need at once is loaded by one of them while the others wait.
#[derive(Debug)]
pub(crate) struct Cache<K> {
    shards: Box<[Mutex<Shard<K>>]>,
    hasher: RandomState,
    /// Bytes that a shard may hold.
    budget: AtomicUsize,
    /// The budget grows until it holds so many of the longest pieces.
    pieces: AtomicUsize,
    spares: Mutex<Spares>,
}

/// Where a piece came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// It was in the cache.
    Cached,
    /// Another thread was loading it.
    Awaited,
    /// It was loaded.
    Loaded,
}

#[derive(Debug, Default)]
struct Shard<K> {
    kept: Queues<K>,
    flights: Flights<K>,
    /// Hashes of keys whose pieces were loaded, whether they are kept or not.
    requested: Recent<u64>,
    requested_limit: usize,
}

/// The result of a look-up.
enum Found {
    Kept(Bytes),
    /// The piece is not kept, or is too short.
    Missing(Slot),
}

impl<K: Hash + Eq + Copy + Default> Cache<K> {
    /// A store of about `budget` bytes in `shards` parts, each with a lock of its own.
    pub(crate) fn new(budget: usize, shards: usize) -> Self {
        let shards = shards.max(1);
        Self {
            shards: (0..shards).map(|_| Mutex::default()).collect(),
            hasher: RandomState::new(),
            budget: AtomicUsize::new(budget / shards),
            pieces: AtomicUsize::new(0),
            spares: Mutex::default(),
        }
    }

    /// Keeps as many of the longest pieces as so many readers need if each uses one at a time.
    pub(crate) fn expect_readers(&self, readers: usize) {
        self.pieces.store(readers.saturating_add(1), Ordering::Relaxed);
    }

    /// Remembers requested keys much longer.
    pub(crate) fn remember(&self) {
        for shard in &self.shards {
            lock(shard).requested_limit = REQUESTED / self.shards.len();
        }
    }

    /// The longest piece that can be kept.
    pub(crate) fn longest(&self) -> usize {
        match self.pieces.load(Ordering::Relaxed) {
            0 => self.budget.load(Ordering::Relaxed),
            _ => usize::MAX,
        }
    }

    /// Bytes that a shard may hold now that it gets a piece of `length` bytes.
    fn budget_for(&self, length: usize) -> usize {
        let needed = length.saturating_mul(self.pieces.load(Ordering::Relaxed));
        self.budget.fetch_max(needed, Ordering::Relaxed).max(needed)
    }

    /// The piece `key` of `length` bytes; `load` fills it unless it is cached.
    pub(crate) fn get_or_load<E>(
        &self,
        key: K,
        length: usize,
        load: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<Bytes, E> {
        self.at_least(key, length, |_| length, load).map(|(bytes, _)| bytes)
    }

    /// The piece `key` with `least` bytes or more. Unless it is cached, `load` fills as many bytes as `length` returns
    /// for whether the key was requested lately.
    pub(crate) fn at_least<E>(
        &self,
        key: K,
        least: usize,
        length: impl FnOnce(bool) -> usize,
        load: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<(Bytes, Origin), E> {
        let (hash, mut shard) = self.shard_of(key);
        let slot = match shard.find(key, least) {
            Found::Kept(bytes) => return Ok((bytes, Origin::Cached)),
            Found::Missing(slot) => slot,
        };
        let known = shard.is_known(key, hash);
        drop(shard);
        let mut loaded = lock(&slot);
        if let Some(bytes) = loaded.as_ref().filter(|bytes| bytes.len() >= least) {
            return Ok((Arc::clone(bytes), Origin::Awaited));
        }
        let mut bytes = lock(&self.spares).take(length(known).max(least));
        if let Err(error) = load(&mut bytes) {
            self.shard(key).flights.end(key, &slot);
            return Err(error);
        }
        let bytes = Arc::new(bytes);
        *loaded = Some(Arc::clone(&bytes));
        let dropped = self.shard(key).keep(key, &bytes, &slot, self.budget_for(bytes.capacity()));
        self.reuse(dropped);
        Ok((bytes, Origin::Loaded))
    }

    /// Fills the first `length` bytes of `buf` with the piece `key`, by `load` unless it is cached; `load` may use all
    /// of `buf`. The piece is not kept, but threads that request it meanwhile share it.
    pub(crate) fn fill<E>(
        &self,
        key: K,
        buf: &mut [u8],
        length: usize,
        load: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<Origin, E> {
        let slot = match self.shard(key).find(key, length) {
            Found::Kept(bytes) => {
                copy(&bytes, buf, length);
                return Ok(Origin::Cached);
            }
            Found::Missing(slot) => slot,
        };
        let mut loaded = lock(&slot);
        if let Some(bytes) = loaded.as_ref().filter(|bytes| bytes.len() >= length) {
            copy(bytes, buf, length);
            return Ok(Origin::Awaited);
        }
        let result = load(buf);
        self.shard(key).flights.end(key, &slot);
        // No further thread finds the slot: those that hold it wait for it.
        if result.is_ok() && Arc::strong_count(&slot) > 1 {
            *loaded = buf.get(..length).map(|bytes| Arc::new(bytes.to_vec()));
        }
        result.map(|()| Origin::Loaded)
    }

    /// The piece `key` if `least` bytes of it are cached.
    pub(crate) fn get(&self, key: K, least: usize) -> Option<Bytes> {
        self.shard(key).kept.get(key, least)
    }

    /// Takes back a piece that was requested: if it is not kept, its memory serves the next one.
    pub(crate) fn recycle(&self, bytes: Bytes) {
        self.reuse(vec![bytes]);
    }

    fn reuse(&self, pieces: Vec<Bytes>) {
        let unused = pieces.into_iter().filter_map(Arc::into_inner).collect::<Vec<_>>();
        if !unused.is_empty() {
            let mut spares = lock(&self.spares);
            for buffer in unused {
                spares.add(buffer);
            }
        }
    }

    /// Keeps a piece that was loaded elsewhere.
    pub(crate) fn put(&self, key: K, bytes: &[u8]) {
        let budget = self.budget_for(bytes.len());
        if bytes.len() > budget {
            return;
        }
        let mut buffer = lock(&self.spares).take(bytes.len());
        copy(bytes, &mut buffer, bytes.len());
        let dropped = self.shard(key).kept.insert(key, &Arc::new(buffer), budget);
        self.reuse(dropped);
    }

    fn shard(&self, key: K) -> MutexGuard<'_, Shard<K>> {
        self.shard_of(key).1
    }

    fn shard_of(&self, key: K) -> (u64, MutexGuard<'_, Shard<K>>) {
        let hash = self.hasher.hash_one(key);
        let index = usize::try_from(hash % self.shards.len() as u64);
        let shard = index.ok().and_then(|index| self.shards.get(index));
        (hash, lock(shard.expect("a remainder of the number of shards, which is at least 1")))
    }
}

impl<K: Hash + Eq + Copy> Shard<K> {
    fn find(&mut self, key: K, least: usize) -> Found {
        match self.kept.get(key, least) {
            Some(bytes) => Found::Kept(bytes),
            None => Found::Missing(self.flights.join(key)),
        }
    }

    /// Whether a piece was requested before; from now on it was.
    fn is_known(&mut self, key: K, hash: u64) -> bool {
        let known = self.kept.knows(key) || self.requested.contains(&hash);
        self.requested.add(hash, self.requested_limit);
        known
    }

    /// Keeps what was loaded through `slot`, if it fits the budget; returns the pieces dropped for it.
    fn keep(&mut self, key: K, bytes: &Bytes, slot: &Slot, budget: usize) -> Vec<Bytes> {
        self.flights.end(key, slot);
        if bytes.capacity() <= budget {
            return self.kept.insert(key, bytes, budget);
        }
        self.kept.pass(key);
        Vec::new()
    }
}

/// Copies the first `length` bytes.
fn copy(bytes: &[u8], buf: &mut [u8], length: usize) {
    let (from, to) = (bytes.get(..length), buf.get_mut(..length));
    let (from, to) = from.zip(to).expect("both have at least `length` bytes");
    to.copy_from_slice(from);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cache: &Cache<u32>, key: u32, length: usize) -> Origin {
        let loaded: Result<_, ()> = cache.at_least(key, length, |_| length, |_| Ok(()));
        loaded.unwrap().1
    }

    #[test]
    fn pieces_are_read_once_and_failures_again() {
        let cache = Cache::new(100, 1);
        let failed: Result<Bytes, u8> = cache.get_or_load(1, 10, |_| Err(7));
        assert_eq!(failed, Err(7));
        let read: Result<Bytes, u8> = cache.get_or_load(1, 10, |_| Ok(()));
        assert_eq!(read.unwrap().len(), 10);
        let again: Result<Bytes, u8> = cache.get_or_load(1, 10, |_| Err(8));
        assert_eq!(again.unwrap().len(), 10);
        assert!(cache.get(1, 10).is_some());
        assert!(cache.get(1, 11).is_none());
        assert!(cache.get(2, 1).is_none());
    }

    #[test]
    fn pieces_that_are_too_short_are_read_again_and_longer() {
        let cache = Cache::new(100, 1);
        assert_eq!(read(&cache, 1, 10), Origin::Loaded);
        let mut requested = false;
        let plan = |known: bool| {
            requested = known;
            40
        };
        let longer: Result<_, ()> = cache.at_least(1, 20, plan, |_| Ok(()));
        assert_eq!(longer.unwrap().0.len(), 40);
        assert!(requested, "it was requested before");
        assert_eq!(read(&cache, 1, 40), Origin::Cached);
    }

    #[test]
    fn without_a_budget_pieces_are_read_but_not_kept() {
        let cache = Cache::new(0, 1);
        for _ in 0..3 {
            assert_eq!(read(&cache, 1, 10), Origin::Loaded);
        }
        cache.put(2, &[1]);
        assert!(cache.get(2, 1).is_none());
        assert!(lock(&cache.shards[0]).flights.is_empty());
    }

    #[test]
    fn filled_pieces_are_not_kept_and_put_ones_are() {
        let cache = Cache::new(100, 1);
        let mut buf = [0; 4];
        for _ in 0..2 {
            let origin = cache.fill(1, &mut buf, 4, |buf| {
                buf.fill(7);
                Ok::<_, ()>(())
            });
            assert_eq!((origin, buf), (Ok(Origin::Loaded), [7; 4]));
        }
        cache.put(1, &[1, 2, 3, 4, 5]);
        let origin = cache.fill(1, &mut buf, 4, |_| Err(()));
        assert_eq!((origin, buf), (Ok(Origin::Cached), [1, 2, 3, 4]));
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

    #[test]
    fn a_request_while_a_piece_is_filled_shares_it() {
        let cache = Cache::new(0, 1);
        let (filling, waiting) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut buf = [0; 4];
                let origin = cache.fill(1, &mut buf, 4, |buf| {
                    filling.store(1, Ordering::Release);
                    // This thread and the one that waits.
                    while lock(&cache.shards[0]).flights.threads(1) < 2 {
                        std::thread::yield_now();
                    }
                    buf.fill(9);
                    Ok::<_, ()>(())
                });
                assert_eq!(origin, Ok(Origin::Loaded));
            });
            while filling.load(Ordering::Acquire) == 0 {
                std::thread::yield_now();
            }
            let (bytes, origin) = cache.at_least(1, 4, |_| 4, |_| Err(())).unwrap();
            assert_eq!((&**bytes, origin), (&[9; 4][..], Origin::Awaited));
            waiting.store(1, Ordering::Release);
        });
        assert_eq!(waiting.load(Ordering::Acquire), 1);
    }
}
