//! What does an image say about itself as a whole?

mod checksum;
mod error;
mod raw;

use alloc::vec::Vec;

use self::raw::RawSuperblock;
pub use self::{
    checksum::{checksum, checksummed_size, verify_checksum},
    error::SuperblockError,
};
use crate::{
    addr::{Blkaddr, BlockBits, Nid},
    compression::AlgorithmSet,
    features::{Compat, Incompat},
    inode::InodeContext,
};

/// Where the superblock begins, in bytes from the image's start.
pub const SUPERBLOCK_POSITION: u64 = 1024;
/// The first field's value in every image.
pub const MAGIC: u32 = 0xE0F5_E1E2;
/// Bytes in a superblock without ext slots.
pub const SUPERBLOCK_SIZE: usize = 128;
/// Bytes in an ext slot.
pub const EXT_SLOT_SIZE: usize = 16;
/// The superblock must end within the first 4 KiB page.
const MAX_SIZE: usize = 4096 - 1024;

/// A superblock, checked.
#[derive(Clone, PartialEq, Eq, Debug)]
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
    /// [`Incompat::COMPR_CFGS`]; else 0, and the config record says it.
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
    /// A superblock of 128 bytes for blocks of `block`, with all else zero and no feature set.
    #[must_use]
    pub fn new(block: BlockBits) -> Self {
        Self {
            block,
            compat: Compat::empty(),
            incompat: Incompat::empty(),
            checksum: 0,
            ext_slots: 0,
            root_nid: Nid(0),
            inos: 0,
            blocks: 0,
            epoch: 0,
            fixed_nsec: 0,
            build_time: 0,
            meta_blkaddr: Blkaddr(0),
            xattr_blkaddr: Blkaddr(0),
            uuid: [0; 16],
            volume_name: [0; 16],
            algorithms: AlgorithmSet::empty(),
            lz4_max_distance: 0,
            extra_devices: 0,
            devt_slotoff: 0,
            xattr_prefix_count: 0,
            xattr_prefix_start: 0,
            packed_nid: None,
            metabox_nid: None,
            xattr_filter_reserved: 0,
            ishare_xattr_prefix_id: None,
        }
    }

    /// Reads and checks a superblock from `bytes`, which begin at byte 1024 of the image: 144 bytes
    /// always suffice. The checksum is not verified; see [`verify_checksum`].
    ///
    /// # Errors
    /// The bytes are no superblock, or Linux would refuse it.
    pub fn parse(bytes: &[u8]) -> Result<Self, SuperblockError> {
        let sb = raw::parse(bytes)?;
        sb.check()?;
        Ok(sb)
    }

    /// The bytes to write at byte 1024, of [`Self::size`], with a checksum of 0.
    ///
    /// # Errors
    /// The root, a count or an address can't be expressed with the features that are set, or
    /// [`Self::parse`] would refuse the result.
    pub fn encode(&self) -> Result<Vec<u8>, SuperblockError> {
        self.check()?;
        let mut bytes = RawSuperblock::encode(self)?.into_bytes(self.metabox_nid);
        bytes.resize(self.size(), 0);
        Ok(bytes)
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

    /// What this superblock says that inodes need to be understood.
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

    fn check(&self) -> Result<(), SuperblockError> {
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

#[cfg(test)]
mod tests;
