//! Tells how the files of a tree are stored that is made of images: of one image, or of several as layers.

use std::num::NonZeroUsize;

use lith_builder::{Known, KnownParts, KnownPcluster};
use lith_format::addr::BlockBits;
use lith_parallel::try_map;
use lith_reader::{Error, Extent};
use lith_tree::{InodeIndex, Kind, Tree};

use crate::{
    BaseError, Bases,
    bases::{Addresses, Opened},
    packed,
    stored::Stored,
};

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
    /// How the files of `tree` are stored in the images, of which the last one is on top: the tree is theirs, or they are
    /// merged to it as overlayfs does. Blocks of the new image have the size `block`.
    ///
    /// # Errors
    /// [`BaseError`] if blocks have another size, addresses are out of reach, or a file can't be found in the images.
    pub fn layers(
        &self,
        tree: &Tree,
        block: BlockBits,
        reuse: Reuse,
        workers: NonZeroUsize,
    ) -> Result<Known<'_>, BaseError> {
        let (addresses, mut known) = match reuse {
            Reuse::Copy => {
                let mut known = Known::new();
                known.copied = Some(self);
                (self.addresses((block, 0), true)?, known)
            }
            Reuse::Refer { room } => {
                let addresses = self.addresses((block, room), false)?;
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
        let files = files(tree);
        let parts = try_map(
            &files,
            workers,
            || (),
            |(), inode| parts_of(&stored, &addresses, &tree.path(*inode)),
        )?;
        known.own = files.into_iter().zip(parts).collect();
        Ok(known)
    }

    /// The size of the first image's blocks.
    #[must_use]
    pub fn block(&self) -> Option<BlockBits> {
        self.images().first().map(|opened| opened.image.superblock().block)
    }
}

/// The regular files that have content.
fn files(tree: &Tree) -> Vec<InodeIndex> {
    let mut inode = InodeIndex::ROOT;
    let mut files = Vec::new();
    while inode < tree.next_index() {
        if matches!(tree.get(inode).kind, Kind::Regular { size: 1.. }) {
            files.push(inode);
        }
        inode = inode.next();
    }
    files
}

/// How the file at a path is stored: in the topmost image that has the path, since that hides all others.
fn parts_of(
    stored: &[Stored<'_>],
    addresses: &Addresses<'_>,
    path: &[u8],
) -> Result<KnownParts, BaseError> {
    let mut missing = KnownParts::Extents(Vec::new());
    for stored in stored.iter().rev() {
        let Some(Opened { path: image_path, image, .. }) = addresses.opened(stored.image) else {
            continue;
        };
        let failed = |source| BaseError::Image { path: image_path.clone(), source };
        let inode = match image.resolve(path) {
            Err(Error::NotFound { .. } | Error::NotADirectory { .. }) => continue,
            found => found.map_err(failed)?,
        };
        let extents = image.extents(&inode).map_err(failed)?;
        let extents: Vec<Extent> = extents.collect::<Result<_, _>>().map_err(failed)?;
        missing = match stored.storage(&extents) {
            Some(whole) => KnownParts::Whole(whole),
            None => KnownParts::Extents(pclusters(stored, &extents)),
        };
        break;
    }
    Ok(missing)
}

/// The extents of a file that have pclusters of their own.
fn pclusters(stored: &Stored<'_>, extents: &[Extent]) -> Vec<(u64, KnownPcluster)> {
    let pcluster = |extent: &Extent| Some((extent.la, stored.pcluster(extent)?));
    extents.iter().filter_map(pcluster).collect()
}
