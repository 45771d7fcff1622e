//! Defines what is known of a mapped extent, and which extents are refused.

use super::{MAX_EXTENT_LEN, MAX_PCLUSTER_SIZE};
use crate::addr::{BlockBits, La, Pa};

/// Where an extent's stored bytes are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Location {
    /// In a pcluster.
    Blocks {
        /// Its first byte.
        pa: Pa,
        /// Its bytes, 1 to 1 MiB.
        plen: u32,
    },
    /// After the index table ([`IndexTable::inline_at`]).
    Inline {
        /// Bytes there.
        plen: u32,
    },
    /// In the packed inode, decoded: its bytes from here on.
    Fragment {
        /// Where it begins there.
        offset: u64,
    },
    /// Nowhere: zeros.
    Hole,
}

/// How an extent's stored bytes become its content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExtentKind {
    /// As they are.
    Plain {
        /// Rotated within their one block so that a byte stands where its file position falls in a block.
        interlaced: bool,
    },
    /// Decompressed.
    Compressed {
        /// The algorithm's number, unchecked, 0..=15.
        algorithm: u8,
    },
}

/// An extent: a run of a file's bytes that one pcluster decodes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MappedExtent {
    /// Its first byte in the file.
    pub la: La,
    /// Its bytes, at least 1.
    pub llen: u64,
    /// Where it is stored.
    pub location: Location,
    /// How it is stored; without meaning for a fragment or hole.
    pub kind: ExtentKind,
    /// Its pcluster may decode to more than `llen` bytes.
    pub partial: bool,
}

impl MappedExtent {
    /// The first byte of the file after it.
    #[must_use]
    pub const fn end(&self) -> La {
        La(self.la.0.saturating_add(self.llen))
    }

    /// Refuses what kernels refuse: see the variants of [`ExtentError`].
    pub(super) fn checked(self, block: BlockBits) -> Result<Self, ExtentError> {
        let Self { la, llen, .. } = self;
        let (Location::Blocks { plen, .. } | Location::Inline { plen }) = self.location else {
            return Ok(self);
        };
        if llen > MAX_EXTENT_LEN {
            return Err(ExtentError::TooLong { la, llen });
        }
        if u64::from(plen) > MAX_PCLUSTER_SIZE {
            return Err(ExtentError::PclusterTooLarge { la, plen });
        }
        match self.kind {
            ExtentKind::Plain { .. } if llen > plen.into() => {
                Err(ExtentError::PlainTooLong { la, llen, plen })
            }
            ExtentKind::Plain { interlaced: true } if plen != block.size() => {
                Err(ExtentError::BadInterlaced { la, plen })
            }
            _ => Ok(self),
        }
    }
}

/// What is wrong with an extent, whatever table it is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtentError {
    /// It is longer than kernels decode.
    #[error("the extent at {la} has {llen} bytes, expected at most 12 MiB")]
    TooLong {
        /// Its first byte.
        la: La,
        /// Its bytes.
        llen: u64,
    },
    /// Its pcluster is larger than kernels read.
    #[error("the extent at {la} has a pcluster of {plen} bytes, expected at most 1 MiB")]
    PclusterTooLarge {
        /// Its first byte.
        la: La,
        /// Bytes of its pcluster.
        plen: u32,
    },
    /// It is uncompressed but longer than what is stored.
    #[error("the plain extent at {la} has {llen} bytes, but only {plen} are stored")]
    PlainTooLong {
        /// Its first byte.
        la: La,
        /// Its bytes.
        llen: u64,
        /// Bytes of its pcluster.
        plen: u32,
    },
    /// It is rotated, but not within one block.
    #[error("the interlaced extent at {la} has a pcluster of {plen} bytes, expected one block")]
    BadInterlaced {
        /// Its first byte.
        la: La,
        /// Bytes of its pcluster.
        plen: u32,
    },
    /// Its pcluster would be beyond 2^64.
    #[error("the extent at {la} has an address beyond 2^64")]
    AddressOverflow {
        /// Its first byte.
        la: La,
    },
}

impl ExtentError {
    /// Whether the extent is sound but exceeds what this reader, as kernels do, supports.
    #[must_use]
    pub const fn is_unsupported(&self) -> bool {
        matches!(self, Self::TooLong { .. } | Self::PclusterTooLarge { .. })
    }
}
