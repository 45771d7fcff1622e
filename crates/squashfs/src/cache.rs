//! Defines [`Cache`], which keeps decoded blocks.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::Error;

/// Decoded blocks by their position, the most recently used ones.
pub(crate) struct Cache {
    kept: Mutex<Kept>,
    /// The number of blocks that are kept.
    limit: usize,
}

#[derive(Default)]
struct Kept {
    blocks: HashMap<u64, (u64, Arc<Slot>)>,
    /// Positions by the time of their last use.
    uses: BTreeMap<u64, u64>,
    clock: u64,
}

/// A block that is decoded by the first thread that needs it; others wait.
#[derive(Default)]
struct Slot(Mutex<Option<Arc<Block>>>);

/// A decoded block.
pub(crate) struct Block {
    pub(crate) bytes: Box<[u8]>,
    /// The position after its stored bytes.
    pub(crate) end: u64,
}

impl Cache {
    pub(crate) fn new(limit: usize) -> Self {
        Self { kept: Mutex::default(), limit: limit.max(1) }
    }

    /// The block at a position, which `decode` decodes if it is not kept. A failure is not kept.
    pub(crate) fn get(
        &self,
        position: u64,
        decode: impl FnOnce() -> Result<Block, Error>,
    ) -> Result<Arc<Block>, Error> {
        let slot = lock(&self.kept).slot(position, self.limit);
        let mut block = lock(&slot.0);
        if let Some(block) = &*block {
            return Ok(Arc::clone(block));
        }
        let decoded = Arc::new(decode()?);
        *block = Some(Arc::clone(&decoded));
        Ok(decoded)
    }
}

impl Kept {
    fn slot(&mut self, position: u64, limit: usize) -> Arc<Slot> {
        self.clock += 1;
        let (used, slot) = self.blocks.entry(position).or_default();
        self.uses.remove(used);
        *used = self.clock;
        let slot = Arc::clone(slot);
        self.uses.insert(self.clock, position);
        while self.blocks.len() > limit {
            let Some((_, oldest)) = self.uses.pop_first() else { break };
            self.blocks.remove(&oldest);
        }
        slot
    }
}

/// Locks. No critical section leaves its data half changed, so a poisoned lock is as good as another.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::Corruption;

    #[test]
    fn the_most_recently_used_blocks_are_kept() {
        let (cache, decoded) = (Cache::new(2), Cell::new(0));
        let get = |position: u64| {
            let decode = || {
                decoded.set(decoded.get() + 1);
                Ok(Block { bytes: Box::default(), end: position + 1 })
            };
            assert_eq!(cache.get(position, decode).unwrap().end, position + 1);
        };
        for (position, expected) in [(1, 1), (2, 2), (1, 2), (3, 3), (1, 3), (2, 4), (3, 5)] {
            get(position);
            assert_eq!(decoded.get(), expected, "{position}");
        }
    }

    #[test]
    fn a_failure_is_tried_again() {
        let cache = Cache::new(2);
        assert!(cache.get(1, || Err(Corruption::XattrSize.into())).is_err());
        assert!(cache.get(1, || Ok(Block { bytes: Box::default(), end: 2 })).is_ok());
    }
}
