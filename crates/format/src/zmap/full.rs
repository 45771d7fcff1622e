//! Reads full tables.

use core::ops::Range;

use super::header::{Advise, IndexHeader};
use super::index::{CBLKCNT, Head, HeadKind, IndexError, LclusterIndex, NonHead};
use crate::addr::{Blkaddr, Lcn};

/// Marks a HEAD whose extent decodes only the beginning of its pcluster (`Z_EROFS_LI_PARTIAL_REF`).
pub(super) const PARTIAL_REF: u16 = 1 << 15;

/// Marks a HEAD without pcluster (`Z_EROFS_LI_HOLE`).
const HOLE: u16 = 1 << 14;

/// Bytes of an index (`struct z_erofs_lcluster_index`).
const SIZE: u64 = 8;

/// The full indexes of one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FullTable {
    lcluster_size: u64,
    big: bool,
    total: u64,
}

impl FullTable {
    /// The table of a file of `file_size` bytes.
    pub(super) fn new(header: &IndexHeader, file_size: u64) -> Self {
        Self {
            lcluster_size: header.lcluster_size(),
            big: header.advise.intersects(Advise::BIG_PCLUSTER_1 | Advise::BIG_PCLUSTER_2),
            total: header.lclusters(file_size),
        }
    }

    /// Bytes of the table.
    pub(super) const fn size(&self) -> u64 {
        self.total.saturating_mul(SIZE)
    }

    /// Which bytes of the table hold the index of `lcn`.
    pub(super) fn range(&self, lcn: Lcn) -> Result<Range<u64>, IndexError> {
        if lcn.0 >= self.total {
            return Err(IndexError::BeyondTable { lcn, total: self.total });
        }
        // The total was a file size divided by at least 512.
        let start = lcn.0 * SIZE;
        Ok(start..start + SIZE)
    }

    /// The index of `lcn` from the bytes at its range.
    pub(super) fn decode(&self, bytes: &[u8], lcn: Lcn) -> Result<LclusterIndex, IndexError> {
        let Some(index) = bytes.first_chunk() else {
            return Err(IndexError::Short { lcn, expected: SIZE, found: bytes.len() });
        };
        let &[a0, a1, c0, c1, w0, w1, w2, w3] = index;
        let advise = u16::from_le_bytes([a0, a1]);
        let Some(kind) = HeadKind::from_raw(advise) else {
            let (back, ahead) = (u16::from_le_bytes([w0, w1]), u16::from_le_bytes([w2, w3]));
            return self.nonhead(back, ahead, lcn);
        };
        let clusterofs = u16::from_le_bytes([c0, c1]);
        if u64::from(clusterofs) >= self.lcluster_size {
            return Err(IndexError::BogusClusterofs { lcn, clusterofs, size: self.lcluster_size });
        }
        Ok(LclusterIndex::Head(Head {
            kind,
            clusterofs,
            blkaddr: Blkaddr(u32::from_le_bytes([w0, w1, w2, w3]).into()),
            partial: advise & PARTIAL_REF != 0,
            hole: advise & HOLE != 0,
        }))
    }

    fn nonhead(&self, delta0: u16, delta1: u16, lcn: Lcn) -> Result<LclusterIndex, IndexError> {
        if delta0 & CBLKCNT == 0 {
            return Ok(LclusterIndex::NonHead(NonHead { delta0, delta1, cblkcnt: None }));
        }
        if !self.big {
            return Err(IndexError::UnexpectedCblkcnt { lcn });
        }
        let cblkcnt = Some(delta0 & !CBLKCNT);
        Ok(LclusterIndex::NonHead(NonHead { delta0: 1, delta1, cblkcnt }))
    }
}
