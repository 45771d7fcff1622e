//! Defines [`Parts`]: the extents of a file that are stored elsewhere.

use lith_format::{
    addr::{Blkaddr, BlockBits},
    compression::AlgorithmSet,
    zmap::EncodedExtent,
};

use crate::{
    KnownPcluster,
    apart::{Placed, Starts, touching},
    coding::Heads,
};

/// An extent of a file that is stored elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Where it starts in the file.
    pub(crate) position: u64,
    pub(crate) extent: EncodedExtent,
    /// The first block of its pcluster.
    pub(crate) address: Blkaddr,
}

impl Part {
    /// The first byte of the file after it.
    pub(crate) fn end(&self) -> u64 {
        self.position + u64::from(self.extent.llen)
    }

    /// Where its pcluster is.
    pub(crate) fn placed(&self, starts: &Starts) -> Placed {
        let first = self.address.0;
        starts.place(self.position..self.end(), first..first + u64::from(self.extent.blocks))
    }
}

/// The extents of a file that are stored elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    /// By position, without overlaps.
    pub(crate) extents: Vec<Part>,
    /// Their algorithms.
    pub(crate) algorithms: AlgorithmSet,
}

impl Parts {
    /// Adds an extent after the others, if an index can describe it there and a head is free for its algorithm.
    pub(super) fn add(
        &mut self,
        position: u64,
        known: KnownPcluster,
        heads: &mut Heads,
        block: BlockBits,
    ) {
        let is_after = self.extents.last().is_none_or(|last| last.end() <= position);
        if !is_after || !is_reusable(known, block) {
            return;
        }
        let KnownPcluster { llen, blocks, algorithm, partial, address } = known;
        if let Some(kind) = heads.kind(algorithm) {
            let extent = EncodedExtent { llen, blocks, kind, partial };
            self.extents.push(Part { position, extent, address });
            self.algorithms |= algorithm.map_or(AlgorithmSet::empty(), AlgorithmSet::from);
        }
    }

    /// Where the extent ends that is on both sides of a position.
    pub(crate) fn end_around(&self, position: u64) -> Option<u64> {
        let after = self.extents.partition_point(|part| part.position < position);
        let before = self.extents.get(after.checked_sub(1)?)?;
        Some(before.end()).filter(|end| *end > position)
    }

    /// Leaves out extents that seem to follow others on other devices.
    pub(super) fn keep_apart(&mut self, starts: &Starts) {
        if !starts.are_several() {
            return;
        }
        let placed: Vec<_> = self.extents.iter().map(|part| part.placed(starts)).collect();
        let mut left_out = touching(&placed).into_iter().peekable();
        let mut next = 0;
        self.extents.retain(|_| {
            next += 1;
            left_out.next_if_eq(&(next - 1)).is_none()
        });
    }
}

/// Whether an index can describe an extent wherever it starts, and kernels accept it in the middle of a file.
pub(super) fn is_reusable(known: KnownPcluster, block: BlockBits) -> bool {
    let size = u64::from(block.size());
    let (llen, plen) = (u64::from(known.llen), u64::from(known.blocks) * size);
    match known.algorithm {
        None => llen == size && known.blocks == 1,
        Some(_) if known.blocks > 1 => llen >= 2 * size && (known.partial || llen >= plen),
        Some(_) => llen >= size,
    }
}
