//! Puts the packed inodes of all bases together, since an image has only one.

use lith_builder::{KnownExtent, KnownPacked, KnownPcluster};

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

/// The extents of the packed inodes, which hold files of any size if the bases pack all of them.
pub(crate) fn extents(
    addresses: &Addresses<'_>,
    all: &AllPacked,
) -> Result<Vec<KnownExtent>, BaseError> {
    let (mut found, mut buf) = (Vec::new(), Vec::new());
    let Some(known) = &all.known else { return Ok(found) };
    for (number, Opened { path, image, .. }) in addresses.bases().images().iter().enumerate() {
        let (Some(start), Some(inode)) = (all.offset(number), image.packed_inode()) else {
            continue;
        };
        let failed = |source| BaseError::Image { path: path.clone(), source };
        let file = image.file(inode).map_err(failed)?;
        let end = start + inode.size;
        let is_rotated = |(position, pcluster): &&(u64, KnownPcluster)| {
            let is_aligned = addresses.block.within(*position) == 0;
            known.interlaced && pcluster.algorithm.is_none() && !is_aligned
        };
        let own = known.extents.iter().filter(|(position, _)| (start..end).contains(position));
        let own = own.filter(|extent| !is_rotated(extent));
        for (position, pcluster) in own {
            buf.resize(pcluster.llen as usize, 0);
            file.read_at(&mut buf, position - start).map_err(failed)?;
            found.extend(KnownExtent::new(&buf, *pcluster, (ALL_PACKED, *position)));
        }
    }
    Ok(found)
}
