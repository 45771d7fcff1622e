//! Computes where a compressed inode's map starts, and its size.
//!
//! Positions are counted from any point that is a multiple of 32 away from the start of the metadata space:
//! the space itself or the inode.

use super::header::RecordSize;
use crate::addr::BlockBits;

/// Entries of a "4B" pack.
pub(super) const ENTRIES_4B: u8 = 2;
/// Entries of a "2B" pack.
pub(super) const ENTRIES_2B: u8 = 16;

/// Where the extent records start, after the map header at `header`.
pub(super) const fn extent_records_offset(header: u64, size: RecordSize) -> Option<u64> {
    match header.checked_add(8) {
        Some(end) => end.checked_next_multiple_of(size.bytes() as u64),
        None => None,
    }
}

/// How the entries of a compact table split into runs of packs: `init` in 4B packs, `c2` in 2B packs that
/// begin at a multiple of 32, `rest` in 4B packs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CompactLayout {
    /// Entries in 4B packs before the first 2B pack.
    pub(super) init: u64,
    /// Entries in 2B packs.
    pub(super) c2: u64,
    /// Entries in 4B packs after the last 2B pack.
    pub(super) rest: u64,
}

impl CompactLayout {
    /// The split of `total` entries whose table begins at `e_mod_32` beyond a multiple of 32; without
    /// `two_byte` (advise `COMPACTED_2B`) there are no 2B packs.
    pub(super) fn new(e_mod_32: u8, total: u64, two_byte: bool) -> Self {
        let init = u64::from((32 - e_mod_32 % 32) / 4 % 8);
        if !two_byte || init >= total {
            return Self { init: 0, c2: 0, rest: total };
        }
        let c2 = (total - init) / 16 * 16;
        Self { init, c2, rest: total - init - c2 }
    }

    /// How many entries there are in all.
    pub(super) const fn total(self) -> u64 {
        self.init.saturating_add(self.c2).saturating_add(self.rest)
    }

    /// Bytes of all packs. A last single entry occupies a whole pack.
    pub(super) const fn size(self) -> u64 {
        let rest = self.rest.div_ceil(2).saturating_mul(8);
        self.init.saturating_mul(4).saturating_add(self.c2.saturating_mul(2)).saturating_add(rest)
    }
}

/// Whether 2B packs can index lclusters of one such block.
pub(super) const fn two_byte(block: BlockBits) -> bool {
    block.bits() <= 12
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_split_at_multiples_of_32() {
        let split = |e, t| {
            let l = CompactLayout::new(e, t, true);
            (l.init, l.c2, l.rest)
        };
        assert_eq!(split(8, 45), (6, 32, 7));
        assert_eq!(split(0, 45), (0, 32, 13));
        assert_eq!(split(16, 45), (4, 32, 9));
        assert_eq!(split(24, 45), (2, 32, 11));
        assert_eq!(split(8, 4), (0, 0, 4));
        assert_eq!(split(8, 6), (0, 0, 6));
        assert_eq!(split(8, 7), (6, 0, 1));
        assert_eq!(CompactLayout::new(8, 45, false), CompactLayout { init: 0, c2: 0, rest: 45 });
    }
}
