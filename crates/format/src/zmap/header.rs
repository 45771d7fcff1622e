//! Defines the map header of a compressed inode.

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::index::HeadKind;
use crate::{
    addr::{BlockBits, La, Lcn},
    features::Incompat,
};

bitflags::bitflags! {
    /// What the map header advises about the table (`h_advise`). Bit 0 means COMPACTED_2B in layout 3 and
    /// EXTENTS in layout 1; unknown bits are kept.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Advise: u16 {
        /// Layout 3: 2B packs are used.
        const COMPACTED_2B = 0x0001;
        /// Layout 1: the table holds extent records.
        const EXTENTS = 0x0001;
        /// CBLKCNT may follow HEAD1.
        const BIG_PCLUSTER_1 = 0x0002;
        /// CBLKCNT may follow HEAD2 and PLAIN.
        const BIG_PCLUSTER_2 = 0x0004;
        /// The last extent is inline, after the table.
        const INLINE = 0x0008;
        /// PLAIN extents in blocks are rotated.
        const INTERLACED = 0x0010;
        /// The last extent is a fragment in the packed inode.
        const FRAGMENT = 0x0020;

        const _ = !0;
    }
}

impl Advise {
    /// Whether the pcluster of an extent of this kind may state its size in a CBLKCNT.
    #[must_use]
    pub const fn big_pcluster(self, kind: HeadKind) -> bool {
        match kind {
            HeadKind::Head1 => self.contains(Self::BIG_PCLUSTER_1),
            HeadKind::Plain | HeadKind::Head2 => self.contains(Self::BIG_PCLUSTER_2),
        }
    }
}

/// The 8 bytes of a map header (`struct z_erofs_map_header`).
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
struct RawMapHeader {
    /// The tail fragment's offset, the inline size in the upper half, or the low count of extent records.
    fragmentoff: U32,
    advise: U16,
    /// Algorithms of HEAD1 (low nibble) and HEAD2.
    algorithmtype: u8,
    /// The lcluster size beyond the block size (low nibble); bit 7 marks a whole-file fragment.
    clusterbits: u8,
}

const _: () = assert!(size_of::<RawMapHeader>() == 8);

const WHOLE_FRAGMENT: u64 = 1 << 63;

/// Which of the two compressed layouts the inode has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndexLayout {
    /// Layout 1: full indexes or extent records.
    Full,
    /// Layout 3: compact packs.
    Compact,
}

/// What a header's meaning depends on beside its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeaderContext {
    /// The inode's layout.
    pub layout: IndexLayout,
    /// The filesystem's block size.
    pub block_bits: BlockBits,
    /// The superblock's incompatible features.
    pub features: Incompat,
}

/// Bytes in an extent record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordSize {
    /// Extents of one length, pclusters consecutive.
    Four,
    /// Extents of one length, pclusters anywhere below 4 GiB.
    Eight,
    /// Extents of any length in a file below 4 GiB.
    Sixteen,
    /// Extents of any length.
    ThirtyTwo,
}

impl RecordSize {
    /// The number itself.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        4 << self.code()
    }

    /// The number's code in [`Advise`], before its shift.
    pub(super) const fn code(self) -> u16 {
        self as u16
    }

    const fn from_advise(advise: Advise) -> Self {
        match advise.bits() >> 1 & 3 {
            0 => Self::Four,
            1 => Self::Eight,
            2 => Self::Sixteen,
            _ => Self::ThirtyTwo,
        }
    }
}

/// The header of an index table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexHeader {
    /// Which form the table has.
    pub layout: IndexLayout,
    /// Flags. FRAGMENT wins over INLINE.
    pub advise: Advise,
    /// Low half of the tail fragment's offset; 0 without FRAGMENT.
    pub fragment_off_lo: u32,
    /// Bytes of the inline pcluster; 0 if there is none.
    pub idata_size: u16,
    /// Algorithm number of HEAD1 extents, unchecked, 0..=15.
    pub head1: u8,
    /// Algorithm number of HEAD2 extents, unchecked, 0..=15.
    pub head2: u8,
    /// The lcluster size's logarithm, 9..=31.
    pub lcluster_bits: u8,
}

impl IndexHeader {
    /// Bytes in an lcluster.
    #[must_use]
    pub const fn lcluster_size(&self) -> u64 {
        1 << self.lcluster_bits
    }

    /// How many lclusters a file of `size` bytes has.
    #[must_use]
    pub const fn lclusters(&self, size: u64) -> u64 {
        size.div_ceil(self.lcluster_size())
    }

    /// The lcluster that holds `la`.
    #[must_use]
    pub const fn lcn(&self, la: La) -> Lcn {
        la.lcn(self.lcluster_bits)
    }
}

/// How [`RecordsHeader`] states the number of records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordsShape {
    /// Records of 4 or 8 bytes: every extent but the last has `1 << unit_bits` bytes.
    Fixed {
        /// The extents' length, as its base-two logarithm.
        unit_bits: u8,
    },
    /// Records of 16 or 32 bytes: each states where its extent starts.
    Variable {
        /// How many there are.
        count: u64,
    },
}

/// The header of a table of extent records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordsHeader {
    /// Flags; bits 1 and 2 hold the record size.
    pub advise: Advise,
    /// Bytes in a record.
    pub record_size: RecordSize,
    /// How many records there are.
    pub shape: RecordsShape,
}

/// A map header, by its form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MapHeader {
    /// The whole file is a fragment in the packed inode.
    WholeFragment {
        /// Where it begins there, below 2^63.
        offset: u64,
    },
    /// Full indexes or compact packs follow.
    Indexes(IndexHeader),
    /// Extent records follow.
    Records(RecordsHeader),
}

/// Why a map header can't be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// A compact table needs the same answer for both kinds of big pclusters.
    #[error("compact map header has advise {advise:#06x}: big pcluster bits differ")]
    BigPclusterBitsDiffer {
        /// The flags found.
        advise: u16,
    },
    /// The superblock doesn't announce big pclusters.
    #[error("map header has advise {advise:#06x}: big pclusters without the superblock's bit 0x2")]
    BigPclusterNotAnnounced {
        /// The flags found.
        advise: u16,
    },
    /// Compact packs index lclusters of at most 2^14 bytes.
    #[error("compact map header has lclusters of 2^{lcluster_bits} bytes, expected at most 2^14")]
    LclusterTooLarge {
        /// The logarithm found.
        lcluster_bits: u8,
    },
    /// Inline data never exceeds a block.
    #[error("map header has {found} bytes of inline data, expected at most {block_size}")]
    InlineTooLarge {
        /// The size found.
        found: u16,
        /// Bytes in a block.
        block_size: u32,
    },
}

impl MapHeader {
    /// Bytes of a header.
    pub const SIZE: usize = size_of::<RawMapHeader>();

    /// Reads a header.
    ///
    /// # Errors
    /// [`HeaderError`] if kernels would refuse the inode because of it.
    pub fn parse(bytes: [u8; Self::SIZE], context: HeaderContext) -> Result<Self, HeaderError> {
        let word = u64::from_le_bytes(bytes);
        if word & WHOLE_FRAGMENT != 0 {
            return Ok(Self::WholeFragment { offset: word & !WHOLE_FRAGMENT });
        }
        let raw: RawMapHeader = zerocopy::transmute!(bytes);
        let advise = Advise::from_bits_retain(raw.advise.get());
        if context.layout == IndexLayout::Full && advise.contains(Advise::EXTENTS) {
            return Ok(Self::Records(RecordsHeader::parse(raw, advise, context.block_bits)));
        }
        IndexHeader::parse(raw, advise, context).map(Self::Indexes)
    }

    /// The header's bytes in a filesystem of such blocks.
    #[must_use]
    pub fn encode(&self, block_bits: BlockBits) -> [u8; Self::SIZE] {
        match self {
            Self::WholeFragment { offset } => (offset | WHOLE_FRAGMENT).to_le_bytes(),
            Self::Indexes(header) => header.encode(block_bits),
            Self::Records(header) => header.encode(block_bits),
        }
    }
}

impl IndexHeader {
    fn parse(
        raw: RawMapHeader,
        advise: Advise,
        context: HeaderContext,
    ) -> Result<Self, HeaderError> {
        let word = raw.fragmentoff.get();
        let [_, _, low, high] = word.to_le_bytes();
        let fragment = advise.contains(Advise::FRAGMENT);
        let inline = advise.contains(Advise::INLINE) && !fragment;
        let header = Self {
            layout: context.layout,
            advise,
            fragment_off_lo: if fragment { word } else { 0 },
            idata_size: if inline { u16::from_le_bytes([low, high]) } else { 0 },
            head1: raw.algorithmtype & 15,
            head2: raw.algorithmtype >> 4,
            lcluster_bits: context.block_bits.bits() + (raw.clusterbits & 15),
        };
        header.check(context)?;
        Ok(header)
    }

    fn check(&self, context: HeaderContext) -> Result<(), HeaderError> {
        let advise = self.advise.bits();
        let big = [Advise::BIG_PCLUSTER_1, Advise::BIG_PCLUSTER_2].map(|b| self.advise.contains(b));
        if big != [false; 2] && !context.features.contains(Incompat::BIG_PCLUSTER) {
            return Err(HeaderError::BigPclusterNotAnnounced { advise });
        }
        if self.layout == IndexLayout::Compact {
            if big == [true, false] || big == [false, true] {
                return Err(HeaderError::BigPclusterBitsDiffer { advise });
            }
            if self.lcluster_bits > 14 {
                let lcluster_bits = self.lcluster_bits;
                return Err(HeaderError::LclusterTooLarge { lcluster_bits });
            }
        }
        let block_size = context.block_bits.size();
        if u32::from(self.idata_size) > block_size {
            return Err(HeaderError::InlineTooLarge { found: self.idata_size, block_size });
        }
        Ok(())
    }

    fn encode(&self, block_bits: BlockBits) -> [u8; MapHeader::SIZE] {
        let word = if self.advise.contains(Advise::FRAGMENT) {
            self.fragment_off_lo
        } else {
            u32::from(self.idata_size) << 16
        };
        zerocopy::transmute!(RawMapHeader {
            fragmentoff: word.into(),
            advise: self.advise.bits().into(),
            algorithmtype: self.head1 & 15 | self.head2 << 4,
            clusterbits: self.lcluster_bits.saturating_sub(block_bits.bits()) & 15,
        })
    }
}

impl RecordsHeader {
    fn parse(raw: RawMapHeader, advise: Advise, block_bits: BlockBits) -> Self {
        let record_size = RecordSize::from_advise(advise);
        let shape = match record_size {
            RecordSize::Four | RecordSize::Eight => {
                RecordsShape::Fixed { unit_bits: block_bits.bits() + (raw.clusterbits & 15) }
            }
            RecordSize::Sixteen | RecordSize::ThirtyTwo => {
                let high = u16::from_le_bytes([raw.algorithmtype, raw.clusterbits]);
                let count = u64::from(high) << 32 | u64::from(raw.fragmentoff.get());
                RecordsShape::Variable { count }
            }
        };
        Self { advise, record_size, shape }
    }

    fn encode(&self, block_bits: BlockBits) -> [u8; MapHeader::SIZE] {
        let advise = u64::from(self.advise.bits()) << 32;
        let rest = match self.shape {
            RecordsShape::Fixed { unit_bits } => {
                u64::from(unit_bits.saturating_sub(block_bits.bits()) & 15) << 56
            }
            RecordsShape::Variable { count } => count & 0xffff_ffff | (count >> 32 & 0x7fff) << 48,
        };
        (advise | rest).to_le_bytes()
    }
}
