//! Defines [`Apart`], by which pclusters of a file that are on different devices don't seem to follow each other.
//!
//! If the devices are files, Linux (seen with 6.18) reads two pclusters at once where one starts, on its device, at the block at
//! which the other ends on another device, and takes the bytes of both from the first of the two. It compares block devices
//! only. These two may be neighbours in the file, or others are between them that need not be read, because another thread
//! reads them or they are cached.

use std::{collections::HashMap, ops::Range};

/// A pcluster, by the bytes of the file that it holds, and its blocks.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) bytes: Range<u64>,
    /// 0: the image itself.
    pub(crate) device: usize,
    /// On its device.
    pub(crate) blocks: Range<u64>,
}

impl Placed {
    /// Bytes of the file between both.
    fn distance(&self, other: &Self) -> u64 {
        let after = self.bytes.start.saturating_sub(other.bytes.end);
        let before = other.bytes.start.saturating_sub(self.bytes.end);
        after.max(before)
    }
}

/// The pclusters of a file that have their places.
#[derive(Debug, Default)]
pub(crate) struct Apart {
    by_start: HashMap<u64, Vec<Placed>>,
    by_end: HashMap<u64, Vec<Placed>>,
}

impl Apart {
    pub(crate) fn add(&mut self, placed: &Placed) {
        self.by_start.entry(placed.blocks.start).or_default().push(placed.clone());
        self.by_end.entry(placed.blocks.end).or_default().push(placed.clone());
    }

    /// Whether a pcluster seems to follow none on another device, nor to be followed by one, of those with at most so many
    /// bytes of the file between them and it.
    pub(crate) fn allows(&self, placed: &Placed, distance: u64) -> bool {
        let before = self.by_end.get(&placed.blocks.start);
        let after = self.by_start.get(&placed.blocks.end);
        let mut touching = before.into_iter().chain(after).flatten();
        !touching.any(|other| other.device != placed.device && other.distance(placed) <= distance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pclusters_of_other_devices_that_are_near_must_not_touch() {
        let placed = |at: u64, device, first: u64| Placed {
            bytes: at..at + 1000,
            device,
            blocks: first..first + 4,
        };
        let mut apart = Apart::default();
        apart.add(&placed(5000, 1, 10));
        for (other, is_allowed) in [
            (placed(6000, 0, 14), false),
            (placed(4000, 0, 6), false),
            (placed(6500, 0, 14), false),
            (placed(6501, 0, 14), true),
            (placed(6000, 1, 14), true),
            (placed(6000, 0, 15), true),
            (placed(6000, 2, 6), false),
            (placed(6000, 2, 10), true),
        ] {
            assert_eq!(apart.allows(&other, 500), is_allowed, "{other:?}");
        }
    }
}
