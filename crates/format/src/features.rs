//! Defines the feature bits of the superblock, with their names and the first kernel that knows each.

use crate::kernel::{Capability, KernelVersion};

/// A feature bit with what people call it and the first kernel that knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Feature<F> {
    /// The bit.
    pub bit: F,
    /// Its name; two meanings on one bit are joined by a slash.
    pub name: &'static str,
    /// The first kernel that knows the bit.
    pub since: KernelVersion,
}

bitflags::bitflags! {
    /// Features that a reader may ignore (`feature_compat`). Unknown bits are kept.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct Compat: u32 {
        /// The superblock's checksum is valid.
        const SB_CHKSUM = 0x01;
        /// Inode times are modification times.
        const MTIME = 0x02;
        /// The name filter of xattr bodies is valid.
        const XATTR_FILTER = 0x04;
        /// Shared xattrs live in the metabox.
        const SHARED_EA_IN_METABOX = 0x08;
        /// Long xattr prefixes are on the primary device even if there is a packed or metabox inode.
        const PLAIN_XATTR_PFX = 0x10;
        /// `ishare_xattr_prefix_id` is valid.
        const ISHARE_XATTRS = 0x20;
        /// Marks bootstraps of RAFS v6.
        const RAFS_V6 = 0x4000_0000;
    }
}

bitflags::bitflags! {
    /// Features that a reader must know (`feature_incompat`). Unknown bits are kept, to be named.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct Incompat: u32 {
        /// Compressed data is right-aligned in its pcluster (0padding); set whenever compression is on.
        const LZ4_0PADDING = 0x001;
        /// Config records follow the superblock.
        const COMPR_CFGS = 0x002;
        /// Pclusters may be larger than a block: the same bit as [`Self::COMPR_CFGS`].
        const BIG_PCLUSTER = 0x002;
        /// Chunk-based inodes may exist.
        const CHUNKED_FILE = 0x004;
        /// A device table is present.
        const DEVICE_TABLE = 0x008;
        /// HEAD2 lclusters may exist: the same bit as [`Self::DEVICE_TABLE`].
        const COMPR_HEAD2 = 0x008;
        /// Inline tail pclusters may exist.
        const ZTAILPACKING = 0x010;
        /// A packed inode may hold fragments.
        const FRAGMENTS = 0x020;
        /// Partial references may exist: the same bit as [`Self::FRAGMENTS`].
        const DEDUPE = 0x020;
        /// A table of long xattr name prefixes is present.
        const XATTR_PREFIXES = 0x040;
        /// 48-bit addresses, encoded extents, compact mtimes, directories without `.`.
        const BITS_48 = 0x080;
        /// Metadata may be in the content of a metabox inode.
        const METABOX = 0x100;
    }
}

/// A bit with two meanings has the kernel of either: both came with the same release.
const fn feature<F>(bit: F, name: &'static str, capability: Capability) -> Feature<F> {
    Feature { bit, name, since: capability.since() }
}

static COMPAT: [Feature<Compat>; 7] = [
    feature(Compat::SB_CHKSUM, "sb_chksum", Capability::SuperblockChecksum),
    feature(Compat::MTIME, "mtime", Capability::Mtime),
    feature(Compat::XATTR_FILTER, "xattr_filter", Capability::XattrFilter),
    feature(
        Compat::SHARED_EA_IN_METABOX,
        "shared_ea_in_metabox",
        Capability::SharedXattrsInMetabox,
    ),
    feature(Compat::PLAIN_XATTR_PFX, "plain_xattr_pfx", Capability::PlainXattrPrefixes),
    feature(Compat::ISHARE_XATTRS, "ishare_xattrs", Capability::PageCacheSharing),
    feature(Compat::RAFS_V6, "rafs_v6", Capability::Erofs),
];

static INCOMPAT: [Feature<Incompat>; 9] = [
    feature(Incompat::LZ4_0PADDING, "lz4_0padding", Capability::Lz4),
    feature(Incompat::COMPR_CFGS, "compr_cfgs/big_pcluster", Capability::BigPcluster),
    feature(Incompat::CHUNKED_FILE, "chunked_file", Capability::Chunks),
    feature(Incompat::DEVICE_TABLE, "device_table/compr_head2", Capability::Devices),
    feature(Incompat::ZTAILPACKING, "ztailpacking", Capability::Ztailpacking),
    feature(Incompat::FRAGMENTS, "fragments/dedupe", Capability::Fragments),
    feature(Incompat::XATTR_PREFIXES, "xattr_prefixes", Capability::LongXattrPrefixes),
    feature(Incompat::BITS_48, "48bit", Capability::Bits48),
    feature(Incompat::METABOX, "metabox", Capability::Metabox),
];

impl Compat {
    /// The known features that are set, lowest bit first.
    pub fn features(self) -> impl Iterator<Item = &'static Feature<Self>> {
        COMPAT.iter().filter(move |f| self.contains(f.bit))
    }

    /// The bits that no feature known here has.
    #[must_use]
    pub const fn unknown(self) -> u32 {
        self.bits() & !Self::all().bits()
    }
}

impl Incompat {
    /// The known features that are set, lowest bit first.
    pub fn features(self) -> impl Iterator<Item = &'static Feature<Self>> {
        INCOMPAT.iter().filter(move |f| self.contains(f.bit))
    }

    /// The bits that no feature known here has: with any of them an image can't be read.
    #[must_use]
    pub const fn unknown(self) -> u32 {
        self.bits() & !Self::all().bits()
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn every_known_bit_is_one_feature() {
        assert_eq!(Incompat::all().features().count(), 9);
        assert_eq!(Compat::all().features().count(), 7);
        let bits = Incompat::all().features().map(|f| f.bit);
        assert_eq!(bits.fold(Incompat::empty(), |all, bit| all | bit), Incompat::all());
        let bits = Compat::all().features().map(|f| f.bit);
        assert_eq!(bits.fold(Compat::empty(), |all, bit| all | bit), Compat::all());
    }

    #[test]
    fn both_meanings_of_a_bit_came_with_the_same_kernel() {
        assert_eq!(Capability::Devices.since(), Capability::Head2.since());
        assert_eq!(Capability::Fragments.since(), Capability::PartialReferences.since());
    }

    #[test]
    fn unknown_bits_are_kept_and_reported() {
        let bits = Incompat::from_bits_retain(0x8000_0201);
        assert_eq!(bits.unknown(), 0x8000_0200);
        assert_eq!(bits.features().map(|f| f.name).collect::<Vec<_>>(), ["lz4_0padding"]);
        assert_eq!(Compat::from_bits_retain(0x4000_0040).unknown(), 0x40);
    }
}
