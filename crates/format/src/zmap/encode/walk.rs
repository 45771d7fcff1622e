//! Walks the extents of a file and passes the index of each lcluster to a writer.

use super::{
    super::{
        header::Advise,
        index::{HeadKind, MAX_DELTA},
    },
    params::{EncodeParams, EncodedExtent, Tail},
};

/// A HEAD to be written, the end marker included.
pub(super) struct HeadStep {
    /// The number of the extent; `None` for the end marker.
    pub(super) extent: Option<usize>,
    pub(super) kind: HeadKind,
    pub(super) clusterofs: u16,
    pub(super) partial: bool,
}

/// A NONHEAD to be written.
pub(super) struct NonHeadStep {
    /// The extent's own clusterofs, which full indexes repeat.
    pub(super) clusterofs: u16,
    pub(super) delta0: u64,
    pub(super) delta1: u64,
    pub(super) cblkcnt: Option<u16>,
}

/// Takes the indexes in the order of their lclusters.
pub(super) trait IndexWriter {
    fn head(&mut self, step: &HeadStep);
    fn nonhead(&mut self, step: &NonHeadStep);
}

/// Passes each lcluster's index to `writer`. The extents must be valid.
pub(super) fn walk(
    extents: &[EncodedExtent],
    params: &EncodeParams,
    advise: Advise,
    writer: &mut impl IndexWriter,
) {
    let bits = params.block_bits.bits();
    let within = |at| u16::try_from(params.block_bits.within(at)).expect("less than 64 KiB");
    let mut start = 0_u64;
    for (k, extent) in extents.iter().enumerate() {
        let blocks = match params.tail {
            Tail::Inline { .. } if k + 1 == extents.len() => 1,
            Tail::Fragment { .. } if k + 1 == extents.len() => 0,
            _ => extent.blocks,
        };
        let end = start + u64::from(extent.llen);
        let (head, next) = (start >> bits, end >> bits);
        let (kind, partial, clusterofs) = (extent.kind, extent.partial, within(start));
        writer.head(&HeadStep { extent: Some(k), kind, clusterofs, partial });
        for delta0 in 1..next.saturating_sub(head) {
            let cblkcnt = (delta0 == 1 && advise.big_pcluster(kind)).then_some(blocks);
            let delta1 = next - head - delta0;
            writer.nonhead(&NonHeadStep { clusterofs, delta0, delta1, cblkcnt });
        }
        // The last lcluster is never NONHEAD when the file fills only a part of it.
        if k + 1 == extents.len() && next > head && within(end) != 0 {
            let (kind, clusterofs) = (HeadKind::Plain, within(end));
            writer.head(&HeadStep { extent: None, kind, clusterofs, partial: false });
        }
        start = end;
    }
}

/// A delta as it is stored where CBLKCNT could be.
pub(super) fn saturated(delta: u64) -> u16 {
    u16::try_from(delta).map_or(MAX_DELTA, |delta| delta.min(MAX_DELTA))
}
