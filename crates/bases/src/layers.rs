//! Tells how the files of a tree are stored that is made of images: of one image, or of several as layers.

use std::num::NonZeroUsize;

use lith_builder::{Known, KnownParts, KnownPcluster};
use lith_format::addr::{BlockBits, Nid};
use lith_parallel::try_map;
use lith_reader::Extent;
use lith_tree::{Filesystem, InodeIndex, Kind, Visit};

use crate::{
    BaseError, Bases,
    bases::{Opened, Role},
    packed,
    stored::Stored,
};

/// Files of which the threads find at once how they are stored: results take several times the memory until all are there.
const STRIDE: usize = 1 << 14;

/// What becomes of the content of images of which a tree is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reuse {
    /// The new image refers to it there. It has at most so many blocks of its own.
    Refer {
        /// Blocks of the new image.
        room: u64,
    },
    /// It is copied as it is, without decoding it.
    Copy,
}

impl Bases {
    /// How the files of a tree are stored in the images that were merged to it, of which the last one is on top. Blocks of the new image have the size `block`.
    ///
    /// # Errors
    /// [`BaseError`] if blocks have another size, addresses are out of reach, or a file can't be found in the images.
    pub fn layers(
        &self,
        fs: Filesystem<'_>,
        block: BlockBits,
        reuse: Reuse,
        workers: NonZeroUsize,
    ) -> Result<Known<'_>, BaseError> {
        let (addresses, mut known) = match reuse {
            Reuse::Copy => {
                let mut known = Known::new();
                known.copied = Some(self);
                (self.addresses((block, 0), Role::Copied)?, known)
            }
            Reuse::Refer { room } => {
                let addresses = self.addresses((block, room), Role::Devices)?;
                let known = addresses.as_devices();
                (addresses, known)
            }
        };
        known.configs = self.configs();
        known.contents = self;
        let packed = packed::known(&addresses)?;
        known.packed.clone_from(&packed.known);
        let stored: Vec<_> = (0..self.images().len())
            .map(|image| Stored { addresses: &addresses, image, packed: packed.offset(image) })
            .collect();
        let find = |origin: &Origin| match stored.get(origin.image) {
            Some(stored) => parts_of(stored, origin.nid),
            None => Ok(KnownParts::Extents(Vec::new())),
        };
        let origins = origins(fs);
        let mut own = Vec::with_capacity(origins.len());
        for origins in origins.chunks(STRIDE) {
            let parts = try_map(origins, workers, || (), |(), origin| find(origin))?;
            own.extend(origins.iter().map(|origin| origin.inode).zip(parts));
        }
        known.own = own.into_iter().collect();
        Ok(known)
    }

    /// The size of the first image's blocks.
    #[must_use]
    pub fn block(&self) -> Option<BlockBits> {
        self.images().first().map(|opened| opened.image.superblock().block)
    }
}

/// Where a file of the tree comes from.
struct Origin {
    inode: InodeIndex,
    image: usize,
    nid: Nid,
}

/// Where the regular files come from that have content.
fn origins(Filesystem { tree, contents }: Filesystem<'_>) -> Vec<Origin> {
    let mut is_found = vec![false; tree.len()];
    let origin = |visit: Visit<'_>| {
        let inode = visit.inode;
        let is_new = !std::mem::replace(is_found.get_mut(inode.index())?, true);
        let Kind::Regular { size: 1.. } = tree.get(inode).kind else { return None };
        let (image, nid) = contents.stored_in(inode).filter(|_| is_new)?;
        Some(Origin { inode, image, nid: Nid(nid) })
    };
    tree.walk().filter_map(origin).collect()
}

/// How a file of an image is stored.
fn parts_of(stored: &Stored<'_>, nid: Nid) -> Result<KnownParts, BaseError> {
    let Some(Opened { path, image, .. }) = stored.addresses.opened(stored.image) else {
        return Ok(KnownParts::Extents(Vec::new()));
    };
    let failed = |source| BaseError::Image { path: path.clone(), source };
    let inode = image.inode(nid).map_err(failed)?;
    let extents = image.extents(&inode).map_err(failed)?;
    let extents: Vec<Extent> = extents.collect::<Result<_, _>>().map_err(failed)?;
    Ok(match stored.storage(&extents) {
        Some(whole) => KnownParts::Whole(whole),
        None => KnownParts::Extents(pclusters(stored, &extents)),
    })
}

/// The extents of a file that have pclusters of their own.
fn pclusters(stored: &Stored<'_>, extents: &[Extent]) -> Vec<(u64, KnownPcluster)> {
    let pcluster = |extent: &Extent| Some((extent.la, stored.pcluster(extent)?));
    extents.iter().filter_map(pcluster).collect()
}
