//! Defines [`EqualPclusters`], which finds pclusters that the image has already.
//!
//! Equal bytes of different files mostly become different pclusters, since extents start anywhere. But files that begin
//! alike, and those of which a part is cut as another's, have equal ones, above all where pclusters are small.
//! Images with fragments have the feature bit that lets the kernel accept several references to one pcluster.

use std::{collections::HashMap, mem};

use lith_format::{
    addr::{Blkaddr, BlockBits},
    zmap::{EncodedExtent, HeadKind},
};
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// The most pclusters of a generation, of which two are kept: 20 MB each.
const MOST: usize = 1 << 19;
/// More bytes an lcluster that an index may take which gives the address of each pcluster.
const INDEX: u64 = 6;

/// The hash of what a pcluster holds, and how (XXH3, 128 bits). Verification finds a collision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PclusterDigest(u128);

impl PclusterDigest {
    /// Of the blocks of an extent, made by the encoders of a coding.
    pub(super) fn of(blocks: &[u8], extent: EncodedExtent, coding: usize) -> Self {
        let kind = match extent.kind {
            HeadKind::Plain => 0,
            HeadKind::Head1 => 1,
            HeadKind::Head2 => 2,
        };
        let seed = (coding as u64) << 34 | kind << 32 | u64::from(extent.llen);
        Self(xxh3_128_with_seed(blocks, seed))
    }
}

/// A pcluster of a piece.
pub(super) struct OwnPcluster {
    /// Its number among the extents of the piece.
    pub(super) number: u32,
    pub(super) blocks: u32,
    pub(super) digest: PclusterDigest,
}

/// The pclusters that were stored last, by what they hold.
///
/// How many are kept doesn't depend on the memory budget, so that it has no part in what an image looks like.
#[derive(Debug, Default)]
pub(super) struct EqualPclusters {
    recent: HashMap<PclusterDigest, Blkaddr>,
    earlier: HashMap<PclusterDigest, Blkaddr>,
}

impl EqualPclusters {
    /// Where a pcluster is that holds the same.
    pub(super) fn find(&self, pcluster: &OwnPcluster) -> Option<Blkaddr> {
        let digest = &pcluster.digest;
        self.recent.get(digest).or_else(|| self.earlier.get(digest)).copied()
    }

    /// Adds one that is stored now.
    pub(super) fn insert(&mut self, pcluster: &OwnPcluster, address: Blkaddr) {
        if self.recent.len() == MOST {
            self.earlier = mem::take(&mut self.recent);
        }
        self.recent.insert(pcluster.digest, address);
    }

    /// Forgets those from a block on, which will hold something else.
    pub(super) fn forget(&mut self, pclusters: &[PclusterDigest], start: u64) {
        for map in [&mut self.recent, &mut self.earlier] {
            for digest in pclusters {
                if map.get(digest).is_some_and(|address| address.0 >= start) {
                    map.remove(digest);
                }
            }
        }
    }

    /// Whether references to those that are known save more than an index of `lclusters` takes which can hold them.
    pub(super) fn is_gain(&self, own: &[OwnPcluster], lclusters: u64, block: BlockBits) -> bool {
        let known = own.iter().filter(|pcluster| self.find(pcluster).is_some());
        let blocks: u64 = known.map(|pcluster| u64::from(pcluster.blocks)).sum();
        blocks * u64::from(block.size()) > lclusters * INDEX
    }
}
