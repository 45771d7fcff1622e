//! Tells how a file of a base is stored, in the terms of a build that refers to it.

use lith_builder::{KnownPcluster, KnownStorage, KnownStretch};
use lith_format::{
    addr::{Blkaddr, BlockBits},
    compression::Algorithm,
    features::Incompat,
};
use lith_reader::{Extent, ExtentKind, Place};

use crate::bases::Addresses;

/// Describes the files of one image.
pub(crate) struct Stored<'a> {
    pub(crate) addresses: &'a Addresses<'a>,
    /// The image's number.
    pub(crate) image: usize,
    /// Where the content of its packed inode starts among that of all; `None`: it can't be referred to.
    pub(crate) packed: Option<u64>,
}

impl Stored<'_> {
    fn block(&self) -> BlockBits {
        self.addresses.block
    }

    /// Whether compressed data is at the end of its pcluster, as readers of the new image expect. In images that Linux before
    /// 5.4 reads it is not.
    fn is_padded(&self) -> bool {
        let opened = self.addresses.opened(self.image);
        opened.is_some_and(|opened| {
            opened.image.superblock().incompat.contains(Incompat::LZ4_0PADDING)
        })
    }

    /// The slot of the device, the first block there and in the unified address space.
    fn place(&self, extent: &Extent) -> Option<(u16, Blkaddr, Blkaddr)> {
        let Place::Device(at) = extent.place else { return None };
        self.addresses.place(self.image, (at.device, at.pa.0), extent.plen)
    }

    /// The pcluster of an extent, if it is stored in whole blocks of its own.
    pub(crate) fn pcluster(&self, extent: &Extent) -> Option<KnownPcluster> {
        let size = u64::from(self.block().size());
        let (algorithm, partial) = match extent.kind {
            ExtentKind::Compressed { algorithm, partial } if self.is_padded() => {
                (Some(algorithm), partial)
            }
            // What is rotated by nothing is not rotated.
            ExtentKind::Plain { interlaced } if !interlaced || extent.la.is_multiple_of(size) => {
                (None, false)
            }
            _ => return None,
        };
        let (_, _, address) = self.place(extent)?;
        let llen = u32::try_from(extent.len).ok()?;
        let blocks = extent.plen.is_multiple_of(size).then_some(extent.plen / size)?;
        let blocks = u16::try_from(blocks).ok().filter(|blocks| *blocks > 0)?;
        Some(KnownPcluster { llen, blocks, algorithm, partial, address })
    }

    /// The block of an uncompressed extent that is rotated by its position, of use at that position within a block only.
    pub(crate) fn rotated(&self, extent: &Extent) -> Option<KnownPcluster> {
        let size = self.block().size();
        let is_block = extent.plen == u64::from(size) && extent.len == u64::from(size);
        match extent.kind {
            ExtentKind::Plain { interlaced: true } if is_block => {
                let (_, _, address) = self.place(extent)?;
                Some(KnownPcluster {
                    llen: size,
                    blocks: 1,
                    algorithm: None,
                    partial: false,
                    address,
                })
            }
            _ => None,
        }
    }

    /// A block of an uncompressed extent, `skip` bytes after its start, as an extent of its own.
    pub(crate) fn plain_block(&self, extent: &Extent, skip: u64) -> Option<KnownPcluster> {
        let size = self.block().size();
        let (_, _, first) = self.place(extent)?;
        let address = Blkaddr(first.0 + skip / u64::from(size));
        Some(KnownPcluster { llen: size, blocks: 1, algorithm: None, partial: false, address })
    }

    /// How a file is stored that has these extents; `None`: no other image can refer to all of it.
    pub(crate) fn storage(&self, extents: &[Extent]) -> Option<KnownStorage> {
        let (first, rest) = extents.split_first()?;
        match (first.kind, rest) {
            (ExtentKind::Fragment, []) => Some(KnownStorage::Packed(self.fragment(first)?)),
            (ExtentKind::Flat, _) => self.flat(first, rest),
            (ExtentKind::Chunk | ExtentKind::Hole, _) => self.blocks(extents),
            _ => self.pclusters(extents),
        }
    }

    /// Where the bytes of a fragment start in the packed inodes of all images.
    pub(crate) fn fragment(&self, extent: &Extent) -> Option<u64> {
        let Place::Packed { offset } = extent.place else { return None };
        self.packed?.checked_add(offset)
    }

    fn flat(&self, first: &Extent, rest: &[Extent]) -> Option<KnownStorage> {
        let (_, _, start) = self.place(first)?;
        let tail = match rest {
            [] => 0,
            [tail] if tail.kind == ExtentKind::Inline => u32::try_from(tail.len).ok()?,
            _ => return None,
        };
        Some(KnownStorage::Flat { start, tail })
    }

    fn blocks(&self, extents: &[Extent]) -> Option<KnownStorage> {
        let stretch = |extent: &Extent| {
            let place = match extent.kind {
                ExtentKind::Hole => None,
                ExtentKind::Chunk => {
                    self.place(extent).map(|(slot, block, _)| Some((slot, block)))?
                }
                _ => return None,
            };
            Some(KnownStretch { len: extent.len, place })
        };
        let stretches: Option<Vec<_>> = extents.iter().map(stretch).collect();
        let stretches = stretches?;
        let (_, inner) = stretches.split_last()?;
        let size = u64::from(self.block().size());
        let are_blocks = inner.iter().all(|stretch| stretch.len.is_multiple_of(size));
        are_blocks.then_some(KnownStorage::Blocks(stretches))
    }

    fn pclusters(&self, extents: &[Extent]) -> Option<KnownStorage> {
        let (last, others) = extents.split_last()?;
        let (in_blocks, tail) = match last.kind {
            ExtentKind::Fragment => (others, Some(self.fragment(last)?)),
            _ => (extents, None),
        };
        let known: Option<Vec<_>> =
            in_blocks.iter().map(|extent| Some((extent.la, self.pcluster(extent)?))).collect();
        let known = known?;
        let is_last = |at: usize| tail.is_none() && at + 1 == known.len();
        let is_indexed = |(at, (la, known)): (usize, &_)| {
            can_be_indexed((*la, known), is_last(at), self.block())
        };
        if !known.iter().enumerate().all(is_indexed) || !has_two_heads(&known) {
            return None;
        }
        let extents = known.into_iter().map(|(_, known)| known).collect();
        Some(KnownStorage::Pclusters { extents, tail })
    }
}

/// Whether an index of lclusters can describe an extent at its position. Those of extent records may be shorter.
fn can_be_indexed((la, known): (u64, &KnownPcluster), is_last: bool, block: BlockBits) -> bool {
    let (size, llen) = (u64::from(block.size()), u64::from(known.llen));
    let plen = u64::from(known.blocks) * size;
    let covered = la % size + llen;
    let reaches_on = is_last || covered >= size;
    let has_size = known.blocks == 1 || covered >= 2 * size;
    let fits = match known.algorithm {
        None => known.blocks == 1 && llen <= size,
        Some(_) => is_last || known.partial || llen >= plen,
    };
    reaches_on && has_size && fits
}

/// Whether an inode can name all algorithms.
fn has_two_heads(known: &[(u64, KnownPcluster)]) -> bool {
    let used =
        |algorithm: &Algorithm| known.iter().any(|(_, known)| known.algorithm == Some(*algorithm));
    Algorithm::ALL.iter().filter(|algorithm| used(algorithm)).count() <= 2
}
