//! Opens images whose bytes are verified whenever they are read.

use std::{num::NonZeroUsize, path::Path, sync::Arc, thread};

use anyhow::Context;
use lith::{
    bases::{self, Base, Found, check_digest},
    device::{FileDevice, OffsetDevice, ReadAt},
    verity::{
        self, RootHash, SuperblockError, VerifiedDevice, VerityError, find_appended, image_bytes,
    },
};

use super::device;
use crate::{
    args::{location::Location, trust::Trust},
    output::error::Place,
};

/// The device of an image, whose bytes are those of its root hash.
pub(crate) fn open(location: &Location<'_>, trust: &Trust) -> anyhow::Result<VerifiedDevice> {
    let path = location.path;
    let image = || -> anyhow::Result<Box<dyn ReadAt>> {
        Ok(Box::new(OffsetDevice::new(
            device::open_keeping(path, &location.keep)?,
            location.offset,
        )))
    };
    let (tree, usual, at) = match &trust.tree {
        Some(tree) => (device::open_keeping(tree, &location.keep)?, None, tree.as_path()),
        None => (image()?, Some(image()?), path),
    };
    let place = || Place(at).to_string();
    let hash_offset = match (trust.hash_offset, usual) {
        (Some(offset), _) => offset,
        (None, None) => 0,
        (None, Some(image)) => {
            device::refuse_other(path, &device::start(path, &*image)?)?;
            behind(&*image).with_context(place)?
        }
    };
    VerifiedDevice::new(image()?, (tree, hash_offset), trust.root).with_context(place)
}

/// Where the tree after an image is. The image's length is taken from its superblock, which isn't verified by then; with a
/// wrong one there is no tree, or another one than that of the root hash.
fn behind(image: &dyn ReadAt) -> anyhow::Result<u64> {
    let found = find_appended(image, image_bytes(image)?)?;
    Ok(found.ok_or(VerityError::Superblock(SuperblockError::Missing))?)
}

/// The bases of a verified image. If it has the root hash of a base, and the hash tree is there, blocks are compared when they
/// are read; else all bytes of the base with the digest that the image has of it, and again whenever they are read.
pub(crate) fn bases(
    image: &dyn ReadAt,
    location: &Location<'_>,
) -> anyhow::Result<Vec<Box<dyn ReadAt>>> {
    let found = bases::find_for(image, location.path, &location.search)?;
    found.into_iter().map(verified_base).collect()
}

fn verified_base(found: Found) -> anyhow::Result<Box<dyn ReadAt>> {
    let Found { path, device, base } = found;
    let place = || Place(&path).to_string();
    let device = Arc::new(device);
    if let Some(base) = &base
        && let Some(verified) = by_root_hash(&device, base.bytes, base.root).with_context(place)?
    {
        return Ok(Box::new(verified.named(&place())));
    }
    let Some(base) = base.filter(Base::has_digest) else {
        anyhow::bail!("{}: can't be verified: the image has no digest of it", place());
    };
    let workers = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let device = verity::in_memory(Box::new(device), workers).with_context(place)?;
    check_digest(&device, &base, Path::new(&path))?;
    Ok(Box::new(device.named(&place())))
}

/// A base that is verified by its appended hash tree; `None`: the image has no root hash of it, or the tree has another one.
fn by_root_hash(
    device: &Arc<FileDevice>,
    bytes: u64,
    root: Option<[u8; 32]>,
) -> Result<Option<VerifiedDevice>, VerityError> {
    let Some(root) = root else { return Ok(None) };
    let Some(position) = find_appended(device, bytes)? else { return Ok(None) };
    let own = || Box::new(Arc::clone(device));
    match VerifiedDevice::new(own(), (own(), position), RootHash(root)) {
        Err(VerityError::RootHash { .. }) => Ok(None),
        verified => verified.map(Some),
    }
}
