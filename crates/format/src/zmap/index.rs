//! Defines the index of one lcluster.

use crate::addr::{Blkaddr, Lcn};

/// The type number of an lcluster in which no extent starts (`Z_EROFS_LCLUSTER_TYPE_NONHEAD`).
pub(super) const NONHEAD: u16 = 2;

/// Marks a NONHEAD's delta0 as a pcluster size (`Z_EROFS_LI_D0_CBLKCNT`).
pub(super) const CBLKCNT: u16 = 0x800;

/// The largest distance that a delta beside CBLKCNT can state.
pub(super) const MAX_DELTA: u16 = CBLKCNT - 1;

/// How the extent that starts in a HEAD lcluster is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeadKind {
    /// Uncompressed, or the end marker (`Z_EROFS_LCLUSTER_TYPE_PLAIN`).
    Plain,
    /// Compressed with the header's first algorithm (`Z_EROFS_LCLUSTER_TYPE_HEAD1`).
    Head1,
    /// Compressed with the header's second algorithm (`Z_EROFS_LCLUSTER_TYPE_HEAD2`).
    Head2,
}

impl HeadKind {
    /// The type number on disk.
    pub(super) const fn raw(self) -> u16 {
        match self {
            Self::Plain => 0,
            Self::Head1 => 1,
            Self::Head2 => 3,
        }
    }

    /// The kind of the type number in the low two bits of `raw`; `None` if that is NONHEAD.
    pub(super) const fn from_raw(raw: u16) -> Option<Self> {
        match raw & 3 {
            0 => Some(Self::Plain),
            1 => Some(Self::Head1),
            3 => Some(Self::Head2),
            _ => None,
        }
    }
}

/// The index of an lcluster in which an extent starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// How the extent is stored.
    pub kind: HeadKind,
    /// The byte of the lcluster at which the extent starts.
    pub clusterofs: u16,
    /// The pcluster's first block. For a tail fragment of a full index, the high half of its offset.
    pub blkaddr: Blkaddr,
    /// The extent decodes only the beginning of its pcluster (`Z_EROFS_LI_PARTIAL_REF`).
    pub partial: bool,
    /// The extent reads as zeros and has no pcluster (`Z_EROFS_LI_HOLE`).
    pub hole: bool,
}

/// The index of an lcluster that an earlier extent covers whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NonHead {
    /// How many lclusters back the extent's HEAD is, or some lcluster nearer to it. 0 is corruption.
    pub delta0: u16,
    /// How many lclusters ahead the next HEAD is, or some lcluster nearer to it. Old images hold 0.
    pub delta1: u16,
    /// The size of the extent's pcluster in blocks, where this index states it.
    pub cblkcnt: Option<u16>,
}

/// The index of an lcluster, from any form of table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LclusterIndex {
    /// An extent starts here.
    Head(Head),
    /// None does.
    NonHead(NonHead),
}

/// Why an index can't be read from its table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The file has no such lcluster.
    #[error("lcluster {lcn} is beyond the {total} of the file")]
    BeyondTable {
        /// The requested lcluster.
        lcn: Lcn,
        /// How many there are.
        total: u64,
    },
    /// The table would end beyond 2^64.
    #[error("a table of {size} bytes after a map header at {header_at} exceeds the address space")]
    TableOverflow {
        /// Where the map header stands.
        header_at: u64,
        /// Bytes of the table.
        size: u64,
    },
    /// Fewer bytes were handed over than the index occupies.
    #[error("the index of lcluster {lcn} needs {expected} bytes, found {found}")]
    Short {
        /// The requested lcluster.
        lcn: Lcn,
        /// Bytes that hold the index.
        expected: u64,
        /// Bytes at hand.
        found: usize,
    },
    /// An extent starts beyond the end of its lcluster.
    #[error("lcluster {lcn} has clusterofs {clusterofs}, beyond its {size} bytes")]
    BogusClusterofs {
        /// The HEAD lcluster.
        lcn: Lcn,
        /// Its clusterofs.
        clusterofs: u16,
        /// Bytes in an lcluster.
        size: u64,
    },
    /// A NONHEAD states a pcluster size though the inode has no big pclusters.
    #[error("lcluster {lcn} states a CBLKCNT in an inode without big pclusters")]
    UnexpectedCblkcnt {
        /// The NONHEAD lcluster.
        lcn: Lcn,
    },
    /// A pack of an inode with big pclusters holds a distance of 0 or 1 where CBLKCNT must stand.
    #[error("the pack of lcluster {lcn} has distance {delta0} instead of a CBLKCNT")]
    MissingCblkcnt {
        /// The HEAD lcluster whose block address was requested.
        lcn: Lcn,
        /// The distance found in an earlier entry.
        delta0: u16,
    },
    /// The lclusters are too large for packs of this width.
    #[error("packs of {bytes} bytes can't index lclusters of 2^{lcluster_bits} bytes")]
    PackWidth {
        /// Bytes in such a pack.
        bytes: u8,
        /// The lcluster size's logarithm.
        lcluster_bits: u8,
    },
}
