//! Which pieces that were read lately are still at hand?
//!
//! A piece is found by its key and holds at least as many bytes as are asked for. What is kept follows S3-FIFO (Yang
//! et al., SOSP 2023): a new piece waits in a small queue, and only one that is asked for again, or that was kept not
//! long ago, comes into the main queue. So a scan over many pieces passes without driving out those that are in use.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    hash::{BuildHasher, Hash, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Bytes that several readers hold at once.
pub(crate) type Bytes = Arc<Vec<u8>>;

/// Where the thread that reads a piece leaves it. That thread holds the lock meanwhile.
type Slot = Arc<Mutex<Option<Bytes>>>;

/// The part of the budget that new pieces may take when it is used up: pieces are large, and several readers must find
/// theirs for a while.
const SMALL_SHARE: usize = 3;

/// How often a use counts at most.
const USES: u8 = 3;

/// Keys of dropped pieces that are remembered at least.
const GHOSTS: usize = 64;

/// A bounded store of pieces. The lock of a shard is held for look-ups only, never while a piece is
/// read; a piece that several threads want at once is read by one of them while the others wait.
#[derive(Debug)]
pub(crate) struct Cache<K> {
    shards: Box<[Mutex<Shard<K>>]>,
    hasher: RandomState,
    /// Bytes that a shard may hold.
    budget: usize,
}

/// Where a piece came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// It was at hand.
    Kept,
    /// Another thread was reading it.
    Shared,
    /// It was read.
    Loaded,
}

#[derive(Debug)]
struct Shard<K> {
    entries: HashMap<K, Entry>,
    small: VecDeque<K>,
    main: VecDeque<K>,
    ghosts: Ghosts<K>,
    small_bytes: usize,
    bytes: usize,
    /// What an evicted piece was in, for the next one: memory that is new costs more than decoding into it.
    spare: Vec<u8>,
}

#[derive(Debug, Default)]
struct Entry {
    piece: Option<Piece>,
    /// Where the piece, or more of it, will be.
    slot: Option<Slot>,
}

#[derive(Debug)]
struct Piece {
    bytes: Bytes,
    /// Uses since it was last thought of for eviction.
    uses: u8,
    in_main: bool,
}

/// Keys of pieces that were dropped lately, the oldest first.
#[derive(Debug)]
struct Ghosts<K> {
    order: VecDeque<K>,
    known: HashSet<K>,
}

/// What a look-up finds.
enum Found {
    Kept(Bytes),
    /// Not enough is there; `known` if the key was asked for lately.
    Missing {
        slot: Slot,
        known: bool,
    },
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

    /// The longest piece that can be kept.
    pub(crate) const fn longest(&self) -> usize {
        self.budget
    }

    /// The piece `key` of `length` bytes; `load` fills it unless it is at hand.
    pub(crate) fn get_or_load<E>(
        &self,
        key: K,
        length: usize,
        load: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<Bytes, E> {
        self.at_least(key, length, |_| length, load).map(|(bytes, _)| bytes)
    }

    /// The piece `key` with `least` bytes or more. Unless they are at hand, `load` fills as many as `length` says,
    /// which is told whether the key was asked for lately.
    pub(crate) fn at_least<E>(
        &self,
        key: K,
        least: usize,
        length: impl FnOnce(bool) -> usize,
        load: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<(Bytes, Origin), E> {
        let (slot, known) = match self.shard(key).find(key, least) {
            Found::Kept(bytes) => return Ok((bytes, Origin::Kept)),
            Found::Missing { slot, known } => (slot, known),
        };
        let mut loaded = lock(&slot);
        if let Some(bytes) = loaded.as_ref().filter(|bytes| bytes.len() >= least) {
            return Ok((Arc::clone(bytes), Origin::Shared));
        }
        let mut bytes = self.shard(key).buffer(length(known).max(least));
        if let Err(error) = load(&mut bytes) {
            self.shard(key).leave(key, &slot);
            return Err(error);
        }
        let bytes = Arc::new(bytes);
        *loaded = Some(Arc::clone(&bytes));
        self.shard(key).keep(key, &bytes, &slot, self.budget);
        Ok((bytes, Origin::Loaded))
    }

    /// Fills the first `length` bytes of `buf` with the piece `key`, by `load` unless it is at hand; `load` may use all
    /// of `buf`. The piece is not kept, but threads that ask for it meanwhile share it.
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
                return Ok(Origin::Kept);
            }
            Found::Missing { slot, .. } => slot,
        };
        let mut loaded = lock(&slot);
        if let Some(bytes) = loaded.as_ref().filter(|bytes| bytes.len() >= length) {
            copy(bytes, buf, length);
            return Ok(Origin::Shared);
        }
        let result = load(buf);
        self.shard(key).leave(key, &slot);
        // Nobody finds the slot any more: who holds it waits for it.
        if result.is_ok() && Arc::strong_count(&slot) > 1 {
            *loaded = buf.get(..length).map(|bytes| Arc::new(bytes.to_vec()));
        }
        result.map(|()| Origin::Loaded)
    }

    /// The piece `key` if `least` bytes of it are at hand.
    pub(crate) fn get(&self, key: K, least: usize) -> Option<Bytes> {
        self.shard(key).entries.get_mut(&key)?.use_piece(least)
    }

    /// Gives back a piece that was asked for: if it is not kept, its memory serves the next one.
    pub(crate) fn recycle(&self, key: K, bytes: Bytes) {
        if let Some(bytes) = Arc::into_inner(bytes) {
            self.shard(key).spare = bytes;
        }
    }

    /// Keeps a piece that was read otherwise.
    pub(crate) fn put(&self, key: K, bytes: &[u8]) {
        if bytes.len() > self.budget {
            return;
        }
        let mut shard = self.shard(key);
        let mut buffer = shard.buffer(bytes.len());
        copy(bytes, &mut buffer, bytes.len());
        shard.insert(key, &Arc::new(buffer), self.budget);
    }

    #[expect(clippy::indexing_slicing, reason = "a remainder of the number of shards, never 0")]
    fn shard(&self, key: K) -> MutexGuard<'_, Shard<K>> {
        let hash = self.hasher.hash_one(key);
        let index = hash % self.shards.len() as u64;
        lock(&self.shards[usize::try_from(index).unwrap_or(0)])
    }
}

impl Entry {
    fn use_piece(&mut self, least: usize) -> Option<Bytes> {
        let piece = self.piece.as_mut().filter(|piece| piece.bytes.len() >= least)?;
        piece.uses = (piece.uses + 1).min(USES);
        Some(Arc::clone(&piece.bytes))
    }
}

impl<K: Hash + Eq + Copy> Shard<K> {
    fn new() -> Self {
        Self {
            entries: HashMap::new(),
            small: VecDeque::new(),
            main: VecDeque::new(),
            ghosts: Ghosts { order: VecDeque::new(), known: HashSet::new() },
            small_bytes: 0,
            bytes: 0,
            spare: Vec::new(),
        }
    }

    fn find(&mut self, key: K, least: usize) -> Found {
        let entry = self.entries.entry(key).or_default();
        if let Some(bytes) = entry.use_piece(least) {
            return Found::Kept(bytes);
        }
        let known = entry.piece.is_some() || self.ghosts.known.contains(&key);
        Found::Missing { slot: Arc::clone(entry.slot.get_or_insert_default()), known }
    }

    /// Keeps what was read for `slot`.
    fn keep(&mut self, key: K, bytes: &Bytes, slot: &Slot, budget: usize) {
        self.take_slot(key, slot);
        if bytes.capacity() <= budget {
            self.insert(key, bytes, budget);
        } else {
            self.ghosts.add(key, self.entries.len().max(GHOSTS));
            self.forget_empty(key);
        }
    }

    /// Takes back a slot in which nothing is kept.
    fn leave(&mut self, key: K, slot: &Slot) {
        self.take_slot(key, slot);
        self.forget_empty(key);
    }

    fn take_slot(&mut self, key: K, slot: &Slot) {
        if let Some(entry) = self.entries.get_mut(&key)
            && entry.slot.as_ref().is_some_and(|found| Arc::ptr_eq(found, slot))
        {
            entry.slot = None;
        }
    }

    fn forget_empty(&mut self, key: K) {
        if self.entries.get(&key).is_some_and(|entry| entry.piece.is_none() && entry.slot.is_none())
        {
            self.entries.remove(&key);
        }
    }

    fn insert(&mut self, key: K, bytes: &Bytes, budget: usize) {
        let size = bytes.capacity();
        let entry = self.entries.entry(key).or_default();
        let in_main = if let Some(piece) = &mut entry.piece {
            let old = std::mem::replace(&mut piece.bytes, Arc::clone(bytes)).capacity();
            self.bytes -= old;
            self.small_bytes -= if piece.in_main { 0 } else { old };
            piece.in_main
        } else {
            let in_main = self.ghosts.known.contains(&key);
            entry.piece = Some(Piece { bytes: Arc::clone(bytes), uses: 0, in_main });
            let queue = if in_main { &mut self.main } else { &mut self.small };
            queue.push_back(key);
            in_main
        };
        self.bytes += size;
        self.small_bytes += if in_main { 0 } else { size };
        while self.bytes > budget && self.evict(budget) {}
    }

    /// Passes over or drops the piece that has waited longest; false if there is none.
    fn evict(&mut self, budget: usize) -> bool {
        let small = self.small_bytes > budget / SMALL_SHARE || self.main.is_empty();
        let queue = if small { &mut self.small } else { &mut self.main };
        let Some(key) = queue.pop_front() else { return false };
        let piece = self.entries.get_mut(&key).and_then(|entry| entry.piece.as_mut());
        match piece {
            Some(piece) if piece.uses > 0 && small => {
                (piece.uses, piece.in_main) = (0, true);
                self.small_bytes -= piece.bytes.capacity();
                self.main.push_back(key);
            }
            Some(piece) if piece.uses > 0 => {
                piece.uses -= 1;
                self.main.push_back(key);
            }
            _ => {
                self.ghosts.add(key, self.entries.len().max(GHOSTS));
                self.drop_piece(key);
            }
        }
        true
    }

    fn drop_piece(&mut self, key: K) {
        let Some(piece) = self.entries.get_mut(&key).and_then(|entry| entry.piece.take()) else {
            return;
        };
        let size = piece.bytes.capacity();
        self.bytes -= size;
        self.small_bytes -= if piece.in_main { 0 } else { size };
        self.spare = Arc::into_inner(piece.bytes).unwrap_or_default();
        self.forget_empty(key);
    }

    /// A buffer of `length` bytes, whatever they are.
    fn buffer(&mut self, length: usize) -> Vec<u8> {
        // A piece must not keep much more memory than it needs.
        if (length..=length.saturating_mul(2)).contains(&self.spare.capacity()) {
            let mut spare = std::mem::take(&mut self.spare);
            spare.resize(length, 0);
            return spare;
        }
        vec![0; length]
    }
}

impl<K: Hash + Eq + Copy> Ghosts<K> {
    fn add(&mut self, key: K, limit: usize) {
        if self.known.insert(key) {
            self.order.push_back(key);
        }
        while self.order.len() > limit {
            if let Some(oldest) = self.order.pop_front() {
                self.known.remove(&oldest);
            }
        }
    }
}

/// Copies the first `length` bytes, which both have.
fn copy(bytes: &[u8], buf: &mut [u8], length: usize) {
    if let (Some(bytes), Some(buf)) = (bytes.get(..length), buf.get_mut(..length)) {
        buf.copy_from_slice(bytes);
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
    fn what_is_too_short_is_read_again_and_longer() {
        let cache = Cache::new(100, 1);
        assert_eq!(read(&cache, 1, 10), Origin::Loaded);
        let mut asked = false;
        let plan = |known: bool| {
            asked = known;
            40
        };
        let longer: Result<_, ()> = cache.at_least(1, 20, plan, |_| Ok(()));
        assert_eq!(longer.unwrap().0.len(), 40);
        assert!(asked, "it was asked for before");
        assert_eq!(read(&cache, 1, 40), Origin::Kept);
        assert_eq!(lock(&cache.shards[0]).small.len(), 1);
    }

    #[test]
    fn a_scan_does_not_drive_out_what_is_used() {
        let cache = Cache::new(1000, 1);
        for _ in 0..2 {
            (0..8).for_each(|key| assert!(read(&cache, key, 50) != Origin::Shared));
        }
        for key in 100..10_000 {
            assert_eq!(read(&cache, key, 50), Origin::Loaded);
            let shard = lock(&cache.shards[0]);
            assert!(shard.bytes <= 1000);
            assert_eq!(shard.entries.len(), shard.small.len() + shard.main.len());
            assert!(shard.ghosts.order.len() <= GHOSTS);
        }
        assert!((0..8).all(|key| cache.get(key, 50).is_some()));
    }

    #[test]
    fn nothing_is_kept_without_a_budget_but_the_bytes_are_there() {
        let cache = Cache::new(0, 1);
        for _ in 0..3 {
            assert_eq!(read(&cache, 1, 10), Origin::Loaded);
        }
        cache.put(2, &[1]);
        assert!(cache.get(2, 1).is_none());
        assert!(lock(&cache.shards[0]).entries.is_empty());
    }

    #[test]
    fn what_is_filled_is_not_kept_and_what_is_put_is() {
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
        assert_eq!((origin, buf), (Ok(Origin::Kept), [1, 2, 3, 4]));
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
    fn who_asks_while_a_piece_is_filled_shares_it() {
        let cache = Cache::new(0, 1);
        let (filling, waiting) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut buf = [0; 4];
                let origin = cache.fill(1, &mut buf, 4, |buf| {
                    filling.store(1, Ordering::Release);
                    // The entry, this thread and the other hold the slot.
                    while Arc::strong_count(
                        lock(&cache.shards[0]).entries[&1].slot.as_ref().unwrap(),
                    ) < 3
                    {
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
            assert_eq!((&**bytes, origin), (&[9; 4][..], Origin::Shared));
            waiting.store(1, Ordering::Release);
        });
        assert_eq!(waiting.load(Ordering::Acquire), 1);
    }
}
