//! Decides which pieces are kept, by S3-FIFO.
//!
//! S3-FIFO (Yang et al., SOSP 2023): a new piece waits in a small queue. It moves to the main queue only if it is used
//! again, or if it was dropped not long ago. So a scan over many pieces doesn't evict those that are in use.

use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
    sync::Arc,
};

use super::recent::Recent;

/// Bytes that several readers hold at once.
pub(crate) type Bytes = Arc<Vec<u8>>;

/// The small queue takes a third of a full budget, more than the tenth of the paper: pieces are large, and each of
/// several readers must find its own for a while.
const SMALL_SHARE: usize = 3;

/// The most uses that count.
const USES: u8 = 3;

/// Keys of dropped pieces that are remembered at least.
const GHOSTS: usize = 64;

/// The pieces of one shard, and the queues in which they wait for eviction.
#[derive(Debug, Default)]
pub(super) struct Queues<K> {
    pieces: HashMap<K, Piece>,
    small: VecDeque<K>,
    main: VecDeque<K>,
    /// Keys of dropped pieces.
    ghosts: Recent<K>,
    small_bytes: usize,
    bytes: usize,
}

#[derive(Debug)]
struct Piece {
    bytes: Bytes,
    /// Uses since its last turn for eviction.
    uses: u8,
    in_main: bool,
}

impl<K: Hash + Eq + Copy> Queues<K> {
    /// The piece `key` if it has `least` bytes or more, which counts as a use.
    pub(super) fn get(&mut self, key: K, least: usize) -> Option<Bytes> {
        let piece = self.pieces.get_mut(&key).filter(|piece| piece.bytes.len() >= least)?;
        piece.uses = (piece.uses + 1).min(USES);
        Some(Arc::clone(&piece.bytes))
    }

    /// Whether the piece is kept, however short, or was dropped not long ago.
    pub(super) fn knows(&self, key: K) -> bool {
        self.pieces.contains_key(&key) || self.ghosts.contains(&key)
    }

    /// Notes a piece that is too large to be kept as dropped.
    pub(super) fn pass(&mut self, key: K) {
        self.ghosts.add(key, self.pieces.len().max(GHOSTS));
    }

    /// Keeps a piece, in place of an older one with the same key; returns those dropped for it.
    pub(super) fn insert(&mut self, key: K, bytes: &Bytes, budget: usize) -> Vec<Bytes> {
        let (size, mut dropped) = (bytes.capacity(), Vec::new());
        let in_main = if let Some(piece) = self.pieces.get_mut(&key) {
            let old = std::mem::replace(&mut piece.bytes, Arc::clone(bytes));
            self.bytes -= old.capacity();
            self.small_bytes -= if piece.in_main { 0 } else { old.capacity() };
            dropped.push(old);
            piece.in_main
        } else {
            let in_main = self.ghosts.contains(&key);
            self.pieces.insert(key, Piece { bytes: Arc::clone(bytes), uses: 0, in_main });
            let queue = if in_main { &mut self.main } else { &mut self.small };
            queue.push_back(key);
            in_main
        };
        self.bytes += size;
        self.small_bytes += if in_main { 0 } else { size };
        while self.bytes > budget && self.evict(budget, &mut dropped) {}
        dropped
    }

    /// Moves on or drops the piece that has waited longest; false if there is none.
    fn evict(&mut self, budget: usize, dropped: &mut Vec<Bytes>) -> bool {
        let small = self.small_bytes > budget / SMALL_SHARE || self.main.is_empty();
        let queue = if small { &mut self.small } else { &mut self.main };
        let Some(key) = queue.pop_front() else { return false };
        match self.pieces.get_mut(&key) {
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
                self.pass(key);
                dropped.extend(self.remove(key));
            }
        }
        true
    }

    fn remove(&mut self, key: K) -> Option<Bytes> {
        let piece = self.pieces.remove(&key)?;
        let size = piece.bytes.capacity();
        self.bytes -= size;
        self.small_bytes -= if piece.in_main { 0 } else { size };
        Some(piece.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(queues: &mut Queues<u32>, key: u32) {
        if queues.get(key, 50).is_none() {
            queues.insert(key, &Arc::new(vec![0; 50]), 1000);
        }
    }

    #[test]
    fn a_scan_does_not_evict_what_is_used() {
        let mut queues = Queues::default();
        for _ in 0..2 {
            (0..8).for_each(|key| used(&mut queues, key));
        }
        for key in 100..10_000 {
            assert!(queues.get(key, 50).is_none());
            used(&mut queues, key);
            assert!(queues.bytes <= 1000);
            assert_eq!(queues.pieces.len(), queues.small.len() + queues.main.len());
            assert!(queues.ghosts.len() <= GHOSTS);
        }
        assert!((0..8).all(|key| queues.get(key, 50).is_some()));
    }

    #[test]
    fn a_longer_piece_replaces_a_shorter_one() {
        let mut queues = Queues::default();
        assert!(queues.insert(1, &Arc::new(vec![0; 10]), 100).is_empty());
        assert!(queues.get(1, 20).is_none());
        assert!(queues.knows(1));
        assert_eq!(queues.insert(1, &Arc::new(vec![0; 40]), 100).len(), 1);
        assert_eq!(queues.get(1, 20).map(|piece| piece.len()), Some(40));
        assert_eq!((queues.small.len(), queues.bytes), (1, 40));
    }
}
