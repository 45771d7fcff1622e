//! Defines block sizes and the types of addresses, with their checked arithmetic.

use core::fmt;

/// The size of a filesystem block, as its base-two logarithm: 9 (512 bytes) to 16 (64 KiB).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BlockBits(u8);

impl Default for BlockBits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl BlockBits {
    /// 4096-byte blocks, the only size that every kernel with 4 KiB pages mounts.
    pub const DEFAULT: Self = Self(12);

    /// `bits` if the format allows it (9..=16), else `None`.
    #[must_use]
    pub const fn new(bits: u8) -> Option<Self> {
        if bits >= 9 && bits <= 16 { Some(Self(bits)) } else { None }
    }

    /// The logarithm itself.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Bytes in a block.
    #[must_use]
    pub const fn size(self) -> u32 {
        1 << self.0
    }

    /// How many blocks hold `bytes`, the last one perhaps in part.
    #[must_use]
    pub const fn blocks_for(self, bytes: u64) -> u64 {
        bytes.div_ceil(self.size() as u64)
    }

    /// Bytes from the start of its block to `position`.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "less than a block's size, of 32 bits")]
    pub const fn within(self, position: u64) -> u32 {
        (position & (self.size() as u64 - 1)) as u32
    }

    /// `position` moved up to the next block boundary, unless that overflows.
    #[must_use]
    pub const fn align_up(self, position: u64) -> Option<u64> {
        position.checked_next_multiple_of(self.size() as u64)
    }
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub u64);

        impl $name {
            /// Moves forward by `count` of the same unit, unless that overflows.
            #[must_use]
            pub const fn checked_add(self, count: u64) -> Option<Self> {
                match self.0.checked_add(count) {
                    Some(sum) => Some(Self(sum)),
                    None => None,
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number! {
    /// An inode's address: a count of 32-byte slots from `meta_blkaddr`, or with bit 63 set from the
    /// start of the metabox (`erofs_nid_t`).
    Nid
}
number! {
    /// A block address: a count of blocks from the start of the device or of the unified address space
    /// (`erofs_blk_t`).
    Blkaddr
}
number! {
    /// A logical cluster's number within its file (`lcn`).
    Lcn
}
number! {
    /// A logical address: a byte position within a file's decoded content (`erofs_off_t` of `m_la`).
    La
}
number! {
    /// A physical address: a byte position on a device or in the unified address space (`m_pa`).
    Pa
}

impl Nid {
    /// Bytes in a NID's slot.
    pub const SLOT: u64 = 32;
    /// Marks a NID whose inode is in the metabox inode's content.
    pub const METABOX: u64 = 1 << 63;

    /// Whether the inode is in the metabox inode's content.
    #[must_use]
    pub const fn in_metabox(self) -> bool {
        self.0 & Self::METABOX != 0
    }

    /// The byte position of the inode within its metadata space: the device, where the space begins at
    /// block `meta_blkaddr`, or the metabox. `None` if it overflows.
    #[must_use]
    pub const fn position(self, meta_blkaddr: Blkaddr, block: BlockBits) -> Option<u64> {
        let Some(slots) = (self.0 & !Self::METABOX).checked_mul(Self::SLOT) else {
            return None;
        };
        if self.in_metabox() {
            return Some(slots);
        }
        match meta_blkaddr.to_pa(block) {
            Some(base) => base.0.checked_add(slots),
            None => None,
        }
    }
}

impl Blkaddr {
    /// The byte address of the block's start, unless that overflows.
    #[must_use]
    pub const fn to_pa(self, block: BlockBits) -> Option<Pa> {
        match self.0.checked_mul(block.size() as u64) {
            Some(pa) => Some(Pa(pa)),
            None => None,
        }
    }
}

impl La {
    /// The lcluster that holds this byte, for lclusters of `1 << lcluster_bits` bytes.
    #[must_use]
    pub const fn lcn(self, lcluster_bits: u8) -> Lcn {
        Lcn(self.0 >> lcluster_bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_bits_are_nine_to_sixteen() {
        assert_eq!(BlockBits::new(8), None);
        assert_eq!(BlockBits::new(9).map(BlockBits::size), Some(512));
        assert_eq!(BlockBits::new(16).map(BlockBits::size), Some(65536));
        assert_eq!(BlockBits::new(17), None);
    }

    #[test]
    fn nids_count_slots_from_the_metadata_start_or_the_metabox() {
        let b = BlockBits::DEFAULT;
        assert_eq!(Nid(36).position(Blkaddr(0), b), Some(0x480));
        assert_eq!(Nid(128).position(Blkaddr(1502), b), Some(1503 * 4096));
        assert_eq!(Nid(Nid::METABOX | 2).position(Blkaddr(9), b), Some(64));
        assert_eq!(Nid(u64::MAX >> 1).position(Blkaddr(0), b), None);
    }
}
