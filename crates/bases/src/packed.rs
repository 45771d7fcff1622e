//! Puts the packed inodes of all bases together, since an image has only one.

use lith_builder::{KnownPacked, KnownPcluster};
use lith_format::addr::BlockBits;

use crate::{
    BaseError,
    bases::{ALL_PACKED, Addresses, Opened},
    stored::Stored,
};

/// The packed inodes of all images, end to end.
pub(crate) struct AllPacked {
    pub(crate) known: Option<KnownPacked>,
    /// Where each image's starts.
    offsets: Vec<Option<u64>>,
}

impl AllPacked {
    /// Where the content of an image's packed inode starts.
    pub(crate) fn offset(&self, image: usize) -> Option<u64> {
        self.offsets.get(image).copied().flatten()
    }
}

/// Describes the packed inodes.
pub(crate) fn known(addresses: &Addresses<'_>) -> Result<AllPacked, BaseError> {
    let (mut extents, mut offsets, mut size) = (Vec::new(), Vec::new(), 0_u64);
    // Of the inode that all of them become the blocks of uncompressed extents are either rotated or not.
    let (mut plain, mut rotated) = (Vec::new(), Vec::new());
    for (number, Opened { path, image, .. }) in addresses.bases().images().iter().enumerate() {
        let Some(inode) = image.packed_inode() else {
            offsets.push(None);
            continue;
        };
        let failed = |source| BaseError::Image { path: path.clone(), source };
        let stored = Stored { addresses, image: number, packed: None };
        for extent in image.extents(inode).map_err(failed)? {
            let extent = extent.map_err(failed)?;
            let position = size + extent.la;
            let is_aligned = addresses.block.within(position) == 0;
            match stored.pcluster(&extent) {
                Some(known) if known.algorithm.is_none() && !is_aligned => {
                    plain.push((position, known));
                }
                Some(known) => extents.push((position, known)),
                None if addresses.block.within(size) == 0 => {
                    rotated.extend(stored.rotated(&extent).map(|known| (position, known)));
                }
                None => {}
            }
        }
        offsets.push(Some(size));
        let too_far = || BaseError::TooFar { path: path.clone() };
        // The offset of a fragment has 63 bits.
        size = size.checked_add(inode.size).filter(|size| *size < 1 << 62).ok_or_else(too_far)?;
    }
    let interlaced = rotated.len() > plain.len();
    extents.extend(if interlaced { rotated } else { plain });
    extents.sort_by_key(|(position, _)| *position);
    let known =
        (size > 0).then_some(KnownPacked { size, content: ALL_PACKED, extents, interlaced });
    Ok(AllPacked { known, offsets })
}

/// The extents of the packed inodes that can be found elsewhere, by position: those are of use in which only bytes of one file
/// are, as of bases that pack files of any size.
pub(crate) struct PackedExtents(Vec<(u64, KnownPcluster)>);

impl PackedExtents {
    pub(crate) fn new(all: &AllPacked, block: BlockBits) -> Self {
        let Some(KnownPacked { extents, interlaced, .. }) = &all.known else {
            return Self(Vec::new());
        };
        let is_rotated = |(position, pcluster): &&(u64, KnownPcluster)| {
            *interlaced && pcluster.algorithm.is_none() && block.within(*position) != 0
        };
        Self(extents.iter().filter(|extent| !is_rotated(extent)).copied().collect())
    }

    /// The first extent that is within the `len` bytes from `start` on, and how many bytes are before it.
    pub(crate) fn next(&self, (start, len): (u64, u64)) -> Option<(u64, KnownPcluster)> {
        let first = self.0.partition_point(|(position, _)| *position < start);
        let (position, known) = self.0.get(first)?;
        let before = position - start;
        (before.saturating_add(known.llen.into()) <= len).then_some((before, *known))
    }
}
