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

/// Where the map header stands when inode and xattrs end at `inode_end`: the next multiple of 8.
#[must_use]
pub const fn map_header_offset(inode_end: u64) -> Option<u64> {
    inode_end.checked_next_multiple_of(8)
}

/// Where the full indexes start, after the map header at `header`.
#[must_use]
pub const fn full_index_offset(header: u64) -> Option<u64> {
    header.checked_add(16)
}

/// Where the compact packs start, after the map header at `header`.
#[must_use]
pub const fn compact_offset(header: u64) -> Option<u64> {
    header.checked_add(8)
}

/// Where the extent records start, after the map header at `header`.
#[must_use]
pub const fn extent_records_offset(header: u64, size: RecordSize) -> Option<u64> {
    match header.checked_add(8) {
        Some(end) => end.checked_next_multiple_of(size.bytes() as u64),
        None => None,
    }
}

/// How the entries of a compact table split into runs of packs: `init` in 4B packs, `c2` in 2B packs that
/// begin at a multiple of 32, `rest` in 4B packs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompactLayout {
    /// Entries in 4B packs before the first 2B pack.
    pub init: u64,
    /// Entries in 2B packs.
    pub c2: u64,
    /// Entries in 4B packs after the last 2B pack.
    pub rest: u64,
}

impl CompactLayout {
    /// The split of `total` entries whose table begins at `e_mod_32` beyond a multiple of 32; without
    /// `two_byte` (advise `COMPACTED_2B`) there are no 2B packs.
    #[must_use]
    pub fn new(e_mod_32: u8, total: u64, two_byte: bool) -> Self {
        let init = u64::from((32 - e_mod_32 % 32) / 4 % 8);
        if !two_byte || init >= total {
            return Self { init: 0, c2: 0, rest: total };
        }
        let c2 = (total - init) / 16 * 16;
        Self { init, c2, rest: total - init - c2 }
    }

    /// How many entries there are in all.
    #[must_use]
    pub const fn total(self) -> u64 {
        self.init.saturating_add(self.c2).saturating_add(self.rest)
    }

    /// Bytes of all packs. A last single entry occupies a whole pack.
    #[must_use]
    pub const fn size(self) -> u64 {
        let rest = self.rest.div_ceil(2).saturating_mul(8);
        self.init.saturating_mul(4).saturating_add(self.c2.saturating_mul(2)).saturating_add(rest)
    }
}

/// The forms that an inode's map can take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableKind {
    /// No table: the whole file is a fragment.
    WholeFragment,
    /// Full indexes.
    Full,
    /// Compact packs.
    Compact,
    /// Extent records.
    Records {
        /// Bytes in a record.
        size: RecordSize,
        /// How many there are.
        count: u64,
    },
}

impl TableKind {
    /// Bytes of the map header at `header` together with the table of a file of `file_size` bytes, as mkfs
    /// places it (lclusters of one block). `None` if that overflows.
    #[must_use]
    pub fn size(self, file_size: u64, block: BlockBits, header: u64) -> Option<u64> {
        let total = block.blocks_for(file_size);
        match self {
            Self::WholeFragment => Some(16),
            Self::Full => total.checked_mul(8)?.checked_add(16),
            Self::Compact => {
                let e_mod_32 = u8::try_from(compact_offset(header)? % 32).ok()?;
                CompactLayout::new(e_mod_32, total, two_byte(block)).size().checked_add(8)
            }
            Self::Records { size, count } => {
                let before = extent_records_offset(header, size)?.checked_sub(header)?;
                let first = if size == RecordSize::Four { 8 } else { 0 };
                count.checked_mul(u64::from(size.bytes()))?.checked_add(before)?.checked_add(first)
            }
        }
    }
}

/// Whether 2B packs can index lclusters of one such block.
pub(super) const fn two_byte(block: BlockBits) -> bool {
    block.bits() <= 12
}

#[cfg(test)]
mod tests {
    use super::*;

    const B: BlockBits = BlockBits::DEFAULT;

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

    #[test]
    fn sizes_match_the_worked_examples() {
        assert_eq!(TableKind::Compact.size(180_894, B, 0x520), Some(0x5a0 - 0x520));
        assert_eq!(TableKind::Compact.size(13_893, B, 0x520), Some(0x538 - 0x520));
        assert_eq!(TableKind::Full.size(13_893, B, 0x520), Some(48));
        let records = TableKind::Records { size: RecordSize::Sixteen, count: 3 };
        assert_eq!(records.size(43_893, B, 0x520), Some(64));
        let records = TableKind::Records { size: RecordSize::Four, count: 3 };
        assert_eq!(records.size(43_893, B, 0x520), Some(28));
        assert_eq!(
            TableKind::Full.size(u64::MAX, BlockBits::new(9).unwrap(), 8),
            Some((1 << 58) + 16)
        );
    }
}
