//! Tells how the files of a tree are stored that is made of images: of one image, or of several as layers.

use std::{collections::HashMap, num::NonZeroUsize};

use lith_builder::{Known, KnownParts, KnownPcluster};
use lith_format::{
    addr::{BlockBits, Nid},
    file_type::FileType,
};
use lith_parallel::try_map;
use lith_reader::{Extent, Inode};
use lith_tree::{InodeIndex, Kind, Tree};

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
        let origins = origins(tree, self.images())?;
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

/// A directory of the tree, and the directories of images that it is made of, the topmost first.
type Level = (InodeIndex, Vec<(usize, Inode)>);

/// Where the regular files come from that have content: each from the topmost image that has its path, since that hides all
/// others.
fn origins(tree: &Tree, images: &[Opened]) -> Result<Vec<Origin>, BaseError> {
    let (mut origins, mut is_found) = (Vec::new(), vec![false; tree.len()]);
    let mut roots = Vec::new();
    for (number, Opened { path, image, .. }) in images.iter().enumerate().rev() {
        let root = image.inode(image.superblock().root_nid);
        let failed = |source| BaseError::Image { path: path.clone(), source };
        roots.push((number, root.map_err(failed)?));
    }
    let mut stack: Vec<Level> = vec![(InodeIndex::ROOT, roots)];
    while let Some((inode, directories)) = stack.pop() {
        let Some(directory) = tree.get(inode).as_directory() else { continue };
        let found = entries(&directories, images)?;
        for (name, child) in directory.entries() {
            let Some(found) = found.get(name.as_bytes()) else { continue };
            match tree.get(child).kind {
                Kind::Directory(_) => stack.push((child, only_directories(found, images)?)),
                Kind::Regular { size: 1.. } => {
                    let is_new = |done: &mut bool| !std::mem::replace(done, true);
                    if let Some((image, nid)) = found.first()
                        && is_found.get_mut(child.index()).is_some_and(is_new)
                    {
                        origins.push(Origin { inode: child, image: *image, nid: *nid });
                    }
                }
                _ => {}
            }
        }
    }
    Ok(origins)
}

/// The inodes of images that a name leads to, the topmost first.
type Inodes = Vec<(usize, Nid)>;

/// The names in directories of images.
fn entries(
    directories: &[(usize, Inode)],
    images: &[Opened],
) -> Result<HashMap<Vec<u8>, Inodes>, BaseError> {
    let mut names: HashMap<_, Inodes> = HashMap::new();
    for (number, inode) in directories {
        let Some(Opened { path, image, .. }) = images.get(*number) else { continue };
        let failed = |source| BaseError::Image { path: path.clone(), source };
        for entry in image.read_dir(inode).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            names.entry(entry.name).or_default().push((*number, entry.nid));
        }
    }
    Ok(names)
}

fn only_directories(
    found: &[(usize, Nid)],
    images: &[Opened],
) -> Result<Vec<(usize, Inode)>, BaseError> {
    let mut directories = Vec::new();
    for (number, nid) in found {
        let Some(Opened { path, image, .. }) = images.get(*number) else { continue };
        let failed = |source| BaseError::Image { path: path.clone(), source };
        let inode = image.inode(*nid).map_err(failed)?;
        if inode.file_type == FileType::Directory {
            directories.push((*number, inode));
        }
    }
    Ok(directories)
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
