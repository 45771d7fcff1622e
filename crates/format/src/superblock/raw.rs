//! Defines the superblock's bytes (`erofs_super_block`), and reads and writes them.

use alloc::vec::Vec;

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{I64, U16, U32, U64},
};

use super::{EXT_SLOT_SIZE, MAGIC, SUPERBLOCK_SIZE, error::SuperblockError, fields::Superblock};
use crate::{
    addr::{Blkaddr, BlockBits, Nid},
    compression::AlgorithmSet,
    features::{Compat, Incompat},
    halves::{hi16, join, lo32},
};

/// `erofs_super_block`.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
struct RawSuperblock {
    magic: U32,
    checksum: U32,
    feature_compat: U32,
    blkszbits: u8,
    sb_extslots: u8,
    rootnid_2b_or_blocks_hi: U16,

    inos: U64,
    epoch: I64,

    fixed_nsec: U32,
    blocks_lo: U32,
    meta_blkaddr: U32,
    xattr_blkaddr: U32,

    uuid: [u8; 16],

    volume_name: [u8; 16],

    feature_incompat: U32,
    available_compr_algs_or_lz4_max_distance: U16,
    extra_devices: U16,
    devt_slotoff: U16,
    dirblkbits: u8,
    xattr_prefix_count: u8,
    xattr_prefix_start: U32,

    packed_nid: U64,
    xattr_filter_reserved: u8,
    ishare_xattr_prefix_id: u8,
    reserved: [u8; 2],
    build_time: U32,

    rootnid_8b: U64,
    reserved2: U64,
}
const _: () = assert!(size_of::<RawSuperblock>() == SUPERBLOCK_SIZE);

/// The first ext slot.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
struct RawExtSlot {
    metabox_nid: U64,
    reserved3: U64,
}
const _: () = assert!(size_of::<RawExtSlot>() == EXT_SLOT_SIZE);

impl Superblock {
    /// Reads and checks a superblock from `bytes`, which start at byte 1024 of the image: 144 bytes
    /// always suffice. The checksum is not verified; see [`verify_checksum`](super::verify_checksum).
    ///
    /// # Errors
    /// The bytes are no superblock, or Linux would refuse it.
    pub fn parse(bytes: &[u8]) -> Result<Self, SuperblockError> {
        let (found, needed) = (bytes.len(), SUPERBLOCK_SIZE);
        let Ok((raw, rest)) = RawSuperblock::ref_from_prefix(bytes) else {
            return Err(SuperblockError::Truncated { found, needed });
        };
        let block = raw.check()?;
        let mut sb = raw.decode(block);
        if sb.incompat.contains(Incompat::METABOX) {
            if sb.ext_slots == 0 {
                return Err(SuperblockError::NoExtSlot);
            }
            let Ok((slot, _)) = RawExtSlot::ref_from_prefix(rest) else {
                let needed = SUPERBLOCK_SIZE + EXT_SLOT_SIZE;
                return Err(SuperblockError::Truncated { found, needed });
            };
            sb.metabox_nid = Some(Nid(slot.metabox_nid.get()));
        }
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
        let mut bytes = RawSuperblock::encode(self)?.as_bytes().to_vec();
        if let Some(nid) = self.metabox_nid {
            let slot = RawExtSlot { metabox_nid: nid.0.into(), reserved3: U64::ZERO };
            bytes.extend_from_slice(slot.as_bytes());
        }
        bytes.resize(self.size(), 0);
        Ok(bytes)
    }
}

impl RawSuperblock {
    fn check(&self) -> Result<BlockBits, SuperblockError> {
        if self.magic.get() != MAGIC {
            return Err(SuperblockError::Magic { found: self.magic.get() });
        }
        let found = self.blkszbits;
        let block = BlockBits::new(found).ok_or(SuperblockError::BlockBits { found })?;
        if self.dirblkbits != 0 {
            return Err(SuperblockError::DirBlockBits { found: self.dirblkbits });
        }
        let bits = self.incompat().unknown();
        if bits != 0 {
            return Err(SuperblockError::UnknownIncompat { bits });
        }
        Ok(block)
    }

    const fn incompat(&self) -> Incompat {
        Incompat::from_bits_retain(self.feature_incompat.get())
    }

    const fn compat(&self) -> Compat {
        Compat::from_bits_retain(self.feature_compat.get())
    }

    /// The fields that count with the features that are set; the metabox's is not here.
    fn decode(&self, block: BlockBits) -> Superblock {
        let (compat, incompat) = (self.compat(), self.incompat());
        let (root_nid, blocks) = self.root_and_blocks();
        let (algorithms, lz4_max_distance) = self.algorithms();
        let packed = self.packed_nid.get();
        let has_packed = incompat.contains(Incompat::FRAGMENTS) && packed != 0;
        let has_devices = incompat.contains(Incompat::DEVICE_TABLE);
        let has_ishare = compat.contains(Compat::ISHARE_XATTRS);
        Superblock {
            block,
            compat,
            incompat,
            checksum: self.checksum.get(),
            ext_slots: self.sb_extslots,
            root_nid,
            inos: self.inos.get(),
            blocks,
            epoch: self.epoch.get(),
            fixed_nsec: self.fixed_nsec.get(),
            build_time: self.build_time.get(),
            meta_blkaddr: Blkaddr(self.meta_blkaddr.get().into()),
            xattr_blkaddr: Blkaddr(self.xattr_blkaddr.get().into()),
            uuid: self.uuid,
            volume_name: self.volume_name,
            algorithms,
            lz4_max_distance,
            extra_devices: if has_devices { self.extra_devices.get() } else { 0 },
            devt_slotoff: self.devt_slotoff.get(),
            xattr_prefix_count: self.xattr_prefix_count,
            xattr_prefix_start: self.xattr_prefix_start.get(),
            packed_nid: has_packed.then_some(Nid(packed)),
            metabox_nid: None,
            xattr_filter_reserved: self.xattr_filter_reserved,
            ishare_xattr_prefix_id: has_ishare.then_some(self.ishare_xattr_prefix_id),
        }
    }

    fn root_and_blocks(&self) -> (Nid, u64) {
        let (root, half, lo) =
            (self.rootnid_8b.get(), self.rootnid_2b_or_blocks_hi.get(), self.blocks_lo.get());
        if self.incompat().contains(Incompat::BITS_48) && root != 0 {
            (Nid(root), join(half, lo))
        } else {
            (Nid(half.into()), lo.into())
        }
    }

    fn algorithms(&self) -> (AlgorithmSet, u16) {
        let (incompat, value) =
            (self.incompat(), self.available_compr_algs_or_lz4_max_distance.get());
        if incompat.contains(Incompat::COMPR_CFGS) {
            (AlgorithmSet::from_bits_retain(value), 0)
        } else if value != 0 || incompat.contains(Incompat::LZ4_0PADDING) {
            (AlgorithmSet::LZ4, value)
        } else {
            (AlgorithmSet::empty(), 0)
        }
    }

    fn encode(sb: &Superblock) -> Result<Self, SuperblockError> {
        let (rootnid_8b, half, blocks_lo) = encode_root_and_blocks(sb)?;
        let window_or_set = if sb.incompat.contains(Incompat::COMPR_CFGS) {
            sb.algorithms.bits()
        } else {
            sb.lz4_max_distance
        };
        let slots = sb.size().saturating_sub(SUPERBLOCK_SIZE) / EXT_SLOT_SIZE;
        Ok(Self {
            magic: MAGIC.into(),
            checksum: U32::ZERO,
            feature_compat: sb.compat.bits().into(),
            blkszbits: sb.block.bits(),
            sb_extslots: u8::try_from(slots).expect("ext slots are counted in a byte"),
            rootnid_2b_or_blocks_hi: half,
            inos: sb.inos.into(),
            epoch: sb.epoch.into(),
            fixed_nsec: sb.fixed_nsec.into(),
            blocks_lo,
            meta_blkaddr: encode_address("meta_blkaddr", sb.meta_blkaddr)?,
            xattr_blkaddr: encode_address("xattr_blkaddr", sb.xattr_blkaddr)?,
            uuid: sb.uuid,
            volume_name: sb.volume_name,
            feature_incompat: sb.incompat.bits().into(),
            available_compr_algs_or_lz4_max_distance: window_or_set.into(),
            extra_devices: sb.extra_devices.into(),
            devt_slotoff: sb.devt_slotoff.into(),
            dirblkbits: 0,
            xattr_prefix_count: sb.xattr_prefix_count,
            xattr_prefix_start: sb.xattr_prefix_start.into(),
            packed_nid: sb.packed_nid.unwrap_or_default().0.into(),
            xattr_filter_reserved: sb.xattr_filter_reserved,
            ishare_xattr_prefix_id: sb.ishare_xattr_prefix_id.unwrap_or(0),
            reserved: [0; 2],
            build_time: sb.build_time.into(),
            rootnid_8b,
            reserved2: U64::ZERO,
        })
    }
}

/// `rootnid_8b`, `rootnid_2b` or `blocks_hi`, and `blocks_lo`.
fn encode_root_and_blocks(sb: &Superblock) -> Result<(U64, U16, U32), SuperblockError> {
    let (nid, blocks) = (sb.root_nid, sb.blocks);
    if let (Ok(nid), Ok(blocks)) = (u16::try_from(nid.0), u32::try_from(blocks)) {
        return Ok((U64::ZERO, nid.into(), blocks.into()));
    }
    let wide = sb.incompat.contains(Incompat::BITS_48) && nid.0 != 0;
    if !wide && u32::try_from(blocks).is_ok() {
        return Err(SuperblockError::RootNid { nid });
    }
    if !wide || blocks >> 48 != 0 {
        return Err(SuperblockError::Field { field: "blocks", found: blocks });
    }
    Ok((nid.0.into(), hi16(blocks).into(), lo32(blocks).into()))
}

fn encode_address(field: &'static str, address: Blkaddr) -> Result<U32, SuperblockError> {
    match u32::try_from(address.0) {
        Ok(address) => Ok(address.into()),
        Err(_) => Err(SuperblockError::Field { field, found: address.0 }),
    }
}
