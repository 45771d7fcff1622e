//! Defines the superblock as checked values.

use super::{EXT_SLOT_SIZE, MAX_SIZE, SUPERBLOCK_SIZE, error::SuperblockError};
use crate::{
    addr::{Blkaddr, BlockBits, Nid},
    compression::{Algorithm, AlgorithmSet},
    features::{Compat, Incompat},
    inode::InodeContext,
};

/// A superblock, checked.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Superblock {
    /// The block size.
    pub block: BlockBits,
    /// Features that a reader may ignore.
    pub compat: Compat,
    /// Features that a reader must know.
    pub incompat: Incompat,
    /// The stored checksum, of a meaning only with [`Compat::SB_CHKSUM`]. Written as 0, to be filled
    /// in once the rest of the block is known.
    pub checksum: u32,
    /// Ext slots of 16 bytes after the first 128 bytes.
    pub ext_slots: u8,
    /// The root directory.
    pub root_nid: Nid,
    /// How many inodes there are, for statistics only.
    pub inos: u64,
    /// How many blocks the primary device has, for statistics only.
    pub blocks: u64,
    /// The base of compact inodes' times, in seconds since 1970.
    pub epoch: i64,
    /// The nanoseconds of every compact inode's time.
    pub fixed_nsec: u32,
    /// Seconds from the epoch to the image's making.
    pub build_time: u32,
    /// The block that NID 0 refers to.
    pub meta_blkaddr: Blkaddr,
    /// The block that shared xattr 0 refers to.
    pub xattr_blkaddr: Blkaddr,
    /// The image's UUID.
    pub uuid: [u8; 16],
    /// The volume's name, padded by NULs; see [`Self::label`].
    pub volume_name: [u8; 16],
    /// The algorithms that files may use. Those of an image without [`Incompat::COMPR_CFGS`] are
    /// inferred: LZ4 or none.
    pub algorithms: AlgorithmSet,
    /// The farthest LZ4 match, 0 for the farthest there is. Stored only without
    /// [`Incompat::COMPR_CFGS`]; else 0, and the config record has it.
    pub lz4_max_distance: u16,
    /// How many device slots there are; 0 without [`Incompat::DEVICE_TABLE`].
    pub extra_devices: u16,
    /// Where the device table begins, in units of 128 bytes.
    pub devt_slotoff: u16,
    /// How many long xattr name prefixes there are.
    pub xattr_prefix_count: u8,
    /// Where their table begins, in units of 4 bytes.
    pub xattr_prefix_start: u32,
    /// The packed inode, if [`Incompat::FRAGMENTS`] is set and there is one.
    pub packed_nid: Option<Nid>,
    /// The metabox inode, if [`Incompat::METABOX`] is set.
    pub metabox_nid: Option<Nid>,
    /// With any value but 0, xattr name filters are to be ignored.
    pub xattr_filter_reserved: u8,
    /// Which long xattr prefix names the content digest, with [`Compat::ISHARE_XATTRS`].
    pub ishare_xattr_prefix_id: Option<u8>,
}

impl Superblock {
    /// Whether files may be compressed by this algorithm. An image without compression configs may always have LZ4, which the
    /// first writers did not declare.
    #[must_use]
    pub fn declares(&self, algorithm: Algorithm) -> bool {
        let is_implied =
            algorithm == Algorithm::Lz4 && !self.incompat.contains(Incompat::COMPR_CFGS);
        is_implied || self.algorithms.has(algorithm)
    }

    /// Whether LZ4 streams end their pclusters, after zeros. In the first images they begin them.
    #[must_use]
    pub const fn pads_lz4(&self) -> bool {
        self.incompat.contains(Incompat::LZ4_0PADDING)
    }

    /// A superblock of 128 bytes for blocks of `block`, with all else zero and no feature set.
    #[must_use]
    pub fn new(block: BlockBits) -> Self {
        Self { block, ..Self::default() }
    }

    /// Bytes in the superblock; config records follow.
    #[must_use]
    pub const fn size(&self) -> usize {
        let slots =
            if self.ext_slots == 0 && self.metabox_nid.is_some() { 1 } else { self.ext_slots };
        SUPERBLOCK_SIZE + slots as usize * EXT_SLOT_SIZE
    }

    /// The volume's name without its padding.
    #[must_use]
    pub fn label(&self) -> &[u8] {
        self.volume_name.split(|byte| *byte == 0).next().unwrap_or_default()
    }

    /// The fields that inodes depend on.
    #[must_use]
    pub const fn inode_context(&self) -> InodeContext {
        InodeContext {
            epoch: self.epoch,
            fixed_nsec: self.fixed_nsec,
            wide: self.incompat.contains(Incompat::BITS_48),
        }
    }

    /// Whether xattr name filters may be relied on.
    #[must_use]
    pub const fn has_xattr_filter(&self) -> bool {
        self.compat.contains(Compat::XATTR_FILTER) && self.xattr_filter_reserved == 0
    }

    /// Where the device table begins, in bytes from the image's start.
    #[must_use]
    pub fn device_table_position(&self) -> u64 {
        u64::from(self.devt_slotoff) * 128
    }

    /// Where the table of long xattr prefixes begins, in bytes from the start of its space.
    #[must_use]
    pub fn xattr_prefix_position(&self) -> u64 {
        u64::from(self.xattr_prefix_start) * 4
    }

    pub(super) fn check(&self) -> Result<(), SuperblockError> {
        let unknown = self.algorithms.unknown();
        if unknown != 0 {
            return Err(SuperblockError::UnknownAlgorithms { bits: unknown });
        }
        if self.size() > MAX_SIZE {
            return Err(SuperblockError::TooLarge { size: self.size() });
        }
        outside_metabox("packed", self.packed_nid)?;
        outside_metabox("metabox", self.metabox_nid)?;
        match self.ishare_xattr_prefix_id {
            Some(id) if id >= self.xattr_prefix_count => {
                Err(SuperblockError::IsharePrefix { id, count: self.xattr_prefix_count })
            }
            _ => Ok(()),
        }
    }
}

fn outside_metabox(inode: &'static str, nid: Option<Nid>) -> Result<(), SuperblockError> {
    match nid {
        Some(nid) if nid.in_metabox() => Err(SuperblockError::InMetabox { inode, nid }),
        _ => Ok(()),
    }
}
