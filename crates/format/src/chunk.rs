//! Defines the chunk tables of chunk-based files.

use alloc::vec::Vec;

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U16, U32},
};

use crate::{
    addr::{Blkaddr, BlockBits, La},
    halves::{hi16, join, lo32},
};

const INDEXES: u16 = 0x20;
const WIDE: u16 = 0x40;
const BITS: u16 = 0x1f;
/// A block map entry, or the low half of an index, of a hole.
const HOLE_LO: u32 = u32::MAX;
/// The high half of a hole's index, where it counts.
const HOLE_HI: u16 = u16::MAX;

/// How the chunks of a file are stored (`i_u.c.format`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ChunkFormat {
    bits: u8,
    indexes: bool,
    wide: bool,
}

/// Why a chunk table can't be used, or can't be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChunkError {
    /// The format has bits unknown here.
    #[error("unknown bits in chunk format {format:#x}")]
    UnknownFormat {
        /// The format as found.
        format: u16,
    },
    /// An entry's bytes are missing.
    #[error("{found} bytes are too few for a chunk's entry of {needed}")]
    Truncated {
        /// Bytes at hand.
        found: usize,
        /// Bytes in an entry.
        needed: usize,
    },
    /// The address is too large for the format.
    #[error("chunk address {address} on device {device} can't be stored")]
    Unencodable {
        /// The device.
        device: u16,
        /// The block address on it.
        address: Blkaddr,
    },
}

impl ChunkError {
    /// Whether the file may be sound, but uses a feature unknown here.
    #[must_use]
    pub const fn is_unsupported(&self) -> bool {
        matches!(self, Self::UnknownFormat { .. })
    }
}

impl ChunkFormat {
    /// The greatest logarithm of blocks in a chunk.
    pub const MAX_BITS: u8 = 31;

    /// Chunks of `1 << bits` blocks; `indexes` name a device with each, `wide` ones have 48-bit
    /// addresses. `None` if `bits` is too large.
    #[must_use]
    pub const fn new(bits: u8, indexes: bool, wide: bool) -> Option<Self> {
        if bits <= Self::MAX_BITS { Some(Self { bits, indexes, wide }) } else { None }
    }

    /// Blocks in a chunk, as a logarithm.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.bits
    }

    /// Whether entries are indexes of 8 bytes, not block addresses of 4 bytes.
    #[must_use]
    pub const fn indexes(self) -> bool {
        self.indexes
    }

    /// Whether indexes have 48-bit addresses.
    #[must_use]
    pub const fn wide(self) -> bool {
        self.wide
    }

    /// The value to store.
    #[must_use]
    pub const fn to_raw(self) -> u16 {
        self.bits as u16 | if self.indexes { INDEXES } else { 0 } | if self.wide { WIDE } else { 0 }
    }

    /// Bytes in a chunk: at most 2^47.
    #[must_use]
    pub const fn chunk_size(self, block: BlockBits) -> u64 {
        (block.size() as u64) << self.bits
    }

    /// Bytes in an entry, which the table is also aligned to: 4 or 8.
    #[must_use]
    pub const fn unit(self) -> usize {
        if self.indexes { 8 } else { 4 }
    }

    /// How many chunks a file of `size` bytes has.
    #[must_use]
    pub const fn count(self, size: u64, block: BlockBits) -> u64 {
        size.div_ceil(self.chunk_size(block))
    }

    /// The number of the chunk that holds this byte.
    #[must_use]
    pub const fn chunk_of(self, la: La, block: BlockBits) -> u64 {
        la.0 >> (block.bits() + self.bits)
    }
}

impl TryFrom<u16> for ChunkFormat {
    type Error = ChunkError;

    fn try_from(format: u16) -> Result<Self, ChunkError> {
        if format & !(BITS | INDEXES | WIDE) != 0 {
            return Err(ChunkError::UnknownFormat { format });
        }
        let [low, _] = format.to_le_bytes();
        let bits = low & Self::MAX_BITS;
        Ok(Self { bits, indexes: format & INDEXES != 0, wide: format & WIDE != 0 })
    }
}

/// `erofs_inode_chunk_index`.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
struct RawIndex {
    startblk_hi: U16,
    device_id: U16,
    startblk_lo: U32,
}
const _: () = assert!(size_of::<RawIndex>() == 8);

/// Where a chunk is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chunk {
    /// The device id, to be masked by [`DeviceMap::mask`](crate::device_table::DeviceMap::mask); 0 is the primary one.
    pub device: u16,
    /// The chunk's first block; none if it is a hole.
    pub start: Option<Blkaddr>,
}

impl Chunk {
    /// A chunk that reads as zeros.
    pub const HOLE: Self = Self { device: 0, start: None };

    /// Reads the entry at the start of `bytes`.
    ///
    /// # Errors
    /// There are fewer bytes than [`ChunkFormat::unit`].
    pub fn parse(format: ChunkFormat, bytes: &[u8]) -> Result<Self, ChunkError> {
        let (found, needed) = (bytes.len(), format.unit());
        let parsed = if format.indexes {
            RawIndex::ref_from_prefix(bytes)
                .ok()
                .map(|(raw, _)| Self::from_index(*raw, format.wide))
        } else {
            U32::ref_from_prefix(bytes).ok().map(|(raw, _)| Self::from_block(raw.get()))
        };
        parsed.ok_or(ChunkError::Truncated { found, needed })
    }

    fn from_block(raw: u32) -> Self {
        Self { device: 0, start: (raw != HOLE_LO).then_some(Blkaddr(raw.into())) }
    }

    fn from_index(raw: RawIndex, wide: bool) -> Self {
        let hi = if wide { raw.startblk_hi.get() } else { 0 };
        let hole_hi = if wide { HOLE_HI } else { 0 };
        let start = join(hi, raw.startblk_lo.get());
        let hole = start == join(hole_hi, HOLE_LO);
        Self { device: raw.device_id.get(), start: (!hole).then_some(Blkaddr(start)) }
    }

    /// Appends the entry.
    ///
    /// # Errors
    /// The format has no room for the device or the address.
    pub fn encode_into(self, format: ChunkFormat, out: &mut Vec<u8>) -> Result<(), ChunkError> {
        let hole = join(if format.wide && format.indexes { HOLE_HI } else { 0 }, HOLE_LO);
        let start = match self.start {
            None => hole,
            Some(address) if address.0 < hole && (format.indexes || self.device == 0) => address.0,
            Some(address) => {
                return Err(ChunkError::Unencodable { device: self.device, address });
            }
        };
        if format.indexes {
            let index = RawIndex {
                startblk_hi: hi16(start).into(),
                device_id: self.device.into(),
                startblk_lo: lo32(start).into(),
            };
            out.extend_from_slice(index.as_bytes());
        } else {
            out.extend_from_slice(&lo32(start).to_le_bytes());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::vec;

    use proptest::prelude::*;

    use super::*;

    const MAP: ChunkFormat = ChunkFormat::new(0, false, false).unwrap();
    const INDEXED: ChunkFormat = ChunkFormat::new(0, true, false).unwrap();
    const WIDE: ChunkFormat = ChunkFormat::new(0, true, true).unwrap();

    fn encoded(chunk: Chunk, format: ChunkFormat) -> Result<Vec<u8>, ChunkError> {
        let mut bytes = vec![];
        chunk.encode_into(format, &mut bytes)?;
        Ok(bytes)
    }

    fn at(device: u16, start: u64) -> Chunk {
        Chunk { device, start: Some(Blkaddr(start)) }
    }

    #[test]
    fn formats_keep_their_bits_and_refuse_others() {
        let format = ChunkFormat::try_from(0x66).unwrap();
        assert_eq!((format.bits(), format.indexes(), format.wide()), (6, true, true));
        assert_eq!(format.chunk_size(BlockBits::DEFAULT), 256 << 10);
        for bit in 7..16 {
            let format = 1 << bit;
            let error = ChunkFormat::try_from(format).unwrap_err();
            assert_eq!(error, ChunkError::UnknownFormat { format });
            assert!(error.is_unsupported());
        }
        for raw in 0..0x80 {
            assert_eq!(ChunkFormat::try_from(raw).unwrap().to_raw(), raw);
        }
        assert_eq!(ChunkFormat::new(32, false, false), None);
    }

    #[test]
    fn chunks_tile_the_file() {
        let largest = ChunkFormat::new(31, false, false).unwrap();
        let block = BlockBits::new(16).unwrap();
        assert_eq!(largest.chunk_size(block), 1 << 47);
        assert_eq!(largest.count(u64::MAX, block), 1 << 17);
        assert_eq!(largest.chunk_of(La(u64::MAX), block), (1 << 17) - 1);
        assert_eq!(MAP.count(0, BlockBits::DEFAULT), 0);
        assert_eq!(MAP.count(4097, BlockBits::DEFAULT), 2);
        assert_eq!(MAP.chunk_of(La(4096), BlockBits::DEFAULT), 1);
    }

    #[test]
    fn holes_are_all_ones_as_wide_as_the_format() {
        assert_eq!(encoded(Chunk::HOLE, MAP).unwrap(), [0xff; 4]);
        assert_eq!(encoded(Chunk::HOLE, INDEXED).unwrap(), [0, 0, 0, 0, 255, 255, 255, 255]);
        assert_eq!(encoded(Chunk::HOLE, WIDE).unwrap(), [255, 255, 0, 0, 255, 255, 255, 255]);
        let narrow = [7, 7, 1, 0, 255, 255, 255, 255];
        assert_eq!(Chunk::parse(INDEXED, &narrow), Ok(Chunk { device: 1, start: None }));
        assert_eq!(Chunk::parse(WIDE, &narrow), Ok(at(1, 0x0707_ffff_ffff)));
    }

    #[test]
    fn private_high_halves_are_ignored() {
        let bytes = [0xab, 0xcd, 2, 0, 5, 0, 0, 0];
        assert_eq!(Chunk::parse(INDEXED, &bytes), Ok(at(2, 5)));
        let cut = Chunk::parse(INDEXED, &bytes[..7]);
        assert_eq!(cut, Err(ChunkError::Truncated { found: 7, needed: 8 }));
    }

    #[test]
    fn what_has_no_room_is_not_written() {
        for (chunk, format) in [
            (at(1, 5), MAP),
            (at(0, 0xffff_ffff), MAP),
            (at(0, 1 << 32), INDEXED),
            (at(0, (1 << 48) - 1), WIDE),
        ] {
            let (device, address) = (chunk.device, chunk.start.unwrap());
            let error = encoded(chunk, format).unwrap_err();
            assert_eq!(error, ChunkError::Unencodable { device, address });
        }
        assert!(encoded(at(9, (1 << 48) - 2), WIDE).is_ok());
    }

    proptest! {
        #[test]
        fn entries_come_back(
            raw in 0_u16..0x80, device: u16, start in proptest::option::of(any::<u64>()),
        ) {
            let format = ChunkFormat::try_from(raw).unwrap();
            let most = if format.wide() && format.indexes() { (1 << 48) - 1 } else { 0xffff_ffff };
            let start = start.map(|start| Blkaddr(start % most));
            let device = if format.indexes() { device } else { 0 };
            let chunk = Chunk { device: if start.is_some() { device } else { 0 }, start };
            let bytes = encoded(chunk, format).unwrap();
            prop_assert_eq!(bytes.len(), format.unit());
            prop_assert_eq!(Chunk::parse(format, &bytes), Ok(chunk));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..10), raw: u16) {
            if let Ok(format) = ChunkFormat::try_from(raw) {
                prop_assert_eq!(Chunk::parse(format, &bytes).is_ok(), bytes.len() >= format.unit());
            }
        }
    }
}
