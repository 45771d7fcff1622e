//! Identifies a base: length, digests, the UUID of the image in it, and the root hash of the tree that follows it.

use std::{num::NonZeroUsize, ops::Range, path::Path};

use lith_device::ReadAt;
use lith_format::{
    bases::{Base, HEAD_SIZE},
    superblock::{SUPERBLOCK_POSITION, SUPERBLOCK_SIZE, Superblock},
};
use lith_reader::Image;
use lith_verity::{VerityError, find_appended, format, read_superblock};
use sha2::{Digest, Sha256};

use crate::BaseError;

/// Bytes that are hashed at once.
const STEP: usize = 1 << 20;

/// What identifies the first `bytes` bytes of a file, all of which are read.
///
/// # Errors
/// [`BaseError::Read`].
pub fn identify(device: &dyn ReadAt, bytes: u64, path: &Path) -> Result<Base, BaseError> {
    let base = identify_by_head(device, bytes, path)?;
    let root = root_of(device, bytes, path)?;
    Ok(Base { digest: digest_of(device, 0..bytes, path)?, root, ..base })
}

/// As [`identify`], without the digest and root hash of all bytes: only the beginning is read.
pub(crate) fn identify_by_head(
    device: &dyn ReadAt,
    bytes: u64,
    path: &Path,
) -> Result<Base, BaseError> {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes().to_vec();
    let head = head_of(device, bytes, path)?;
    let (uuid, head) = (uuid_of(&head), sha256(&head));
    Ok(Base { uuid, digest: [0; 32], head, bytes, name, root: None })
}

/// The root hash of so many bytes with the parameters of the hash tree that follows them. `None`: none follows.
///
/// It is computed from the bytes, whatever the tree says: no tree of other bytes has it.
///
/// # Errors
/// [`BaseError::Read`].
pub(crate) fn root_of(
    device: &dyn ReadAt,
    bytes: u64,
    path: &Path,
) -> Result<Option<[u8; 32]>, BaseError> {
    let compute = || -> Result<_, VerityError> {
        let Some(position) = find_appended(device, bytes)? else { return Ok(None) };
        let superblock = read_superblock(device, position)?;
        let nowhere = |_: &[u8], _: u64| Ok(());
        let root = format(device, (&superblock, position), &nowhere, NonZeroUsize::MIN)?;
        Ok(Some(root.0))
    };
    compute().map_err(|source| BaseError::HashTree { path: path.to_owned(), source })
}

/// Checks that a file of the right length and beginning has all the bytes of a base, if its digest is known.
///
/// # Errors
/// [`BaseError::Changed`] if it has others, or [`BaseError::Read`].
pub fn check_digest(device: &dyn ReadAt, base: &Base, path: &Path) -> Result<(), BaseError> {
    if !base.has_digest() {
        return Ok(());
    }
    let digest = digest_of(device, 0..base.bytes, path)?;
    if digest == base.digest { Ok(()) } else { Err(BaseError::Changed { path: path.to_owned() }) }
}

/// Checks that images that follow another one on its device, which refers to them, have the bytes that it was made with, as
/// far as their digests are known. What it says wrongly of where they are is not found here: that is an unsound image.
///
/// # Errors
/// [`BaseError::Followed`] if one has others, or [`BaseError::Read`].
pub fn check_joined(image: &Image, device: &dyn ReadAt, path: &Path) -> Result<(), BaseError> {
    let Ok(Some(joined)) = image.joined() else { return Ok(()) };
    let ranges = joined.ranges(image.superblock().block).unwrap_or_default();
    for (range, base) in ranges.into_iter().zip(&joined.bases) {
        let is_there = range.end <= device.size();
        if is_there && base.has_digest() && digest_of(device, range, path)? != base.digest {
            let name = String::from_utf8_lossy(&base.name).into_owned();
            return Err(BaseError::Followed { path: path.to_owned(), name });
        }
    }
    Ok(())
}

/// The bytes of a device that others refer to: all but the hash tree after an image, which can be added and removed.
pub(crate) fn bytes_of(device: &dyn ReadAt, path: &Path) -> Result<u64, BaseError> {
    let size = device.size();
    let head = head_of(device, size, path)?;
    let Some(superblock) = superblock_in(&head) else { return Ok(size) };
    let image = superblock.blocks.saturating_mul(superblock.block.size().into());
    let tree = find_appended(device, image);
    let failed = |source| BaseError::Read { path: path.to_owned(), source };
    Ok(tree.map_err(failed)?.unwrap_or(size))
}

/// Checks that a file has the length and the beginning of a base. A block device may be longer, and a hash tree may follow.
pub(crate) fn check_head(
    (device, is_block_device): (&dyn ReadAt, bool),
    base: &Base,
    path: &Path,
) -> Result<(), BaseError> {
    let (found, expected) = (device.size(), base.bytes);
    let failed = |source| BaseError::Read { path: path.to_owned(), source };
    let has_tree = || find_appended(device, expected).map(|tree| tree.is_some());
    let is_long =
        found == expected || found > expected && (is_block_device || has_tree().map_err(failed)?);
    let head = head_of(device, base.bytes.min(found), path)?;
    if is_long && sha256(&head) == base.head {
        return Ok(());
    }
    let path = path.to_owned();
    let uuid = uuid_of(&head);
    Err(if uuid != base.uuid && uuid != [0; 16] {
        BaseError::Other { path, found: uuid_text(uuid), expected: uuid_text(base.uuid) }
    } else if is_long {
        BaseError::Changed { path }
    } else {
        BaseError::Length { path, found, expected }
    })
}

fn head_of(device: &dyn ReadAt, bytes: u64, path: &Path) -> Result<Vec<u8>, BaseError> {
    let len = usize::try_from(bytes).map_or(HEAD_SIZE, |bytes| bytes.min(HEAD_SIZE));
    let mut head = vec![0; len];
    let failed = |source| BaseError::Read { path: path.to_owned(), source };
    device.read_at(&mut head, 0).map_err(failed)?;
    Ok(head)
}

fn digest_of(
    device: &dyn ReadAt,
    Range { start, end }: Range<u64>,
    path: &Path,
) -> Result<[u8; 32], BaseError> {
    let (mut hasher, mut buf) = (Sha256::new(), Vec::new());
    let mut position = start;
    while position < end {
        let left = end - position;
        buf.resize(usize::try_from(left).map_or(STEP, |left| left.min(STEP)), 0);
        let failed = |source| BaseError::Read { path: path.to_owned(), source };
        device.read_at(&mut buf, position).map_err(failed)?;
        hasher.update(&buf);
        position += buf.len() as u64;
    }
    Ok(hasher.finalize().into())
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// The UUID of the image that begins with these bytes; zeros if there is none.
fn uuid_of(head: &[u8]) -> [u8; 16] {
    superblock_in(head).map_or([0; 16], |superblock| superblock.uuid)
}

fn superblock_in(head: &[u8]) -> Option<Superblock> {
    let start = usize::try_from(SUPERBLOCK_POSITION).expect("it is in the first block");
    let superblock = head.get(start..).filter(|rest| rest.len() >= SUPERBLOCK_SIZE);
    superblock.and_then(|bytes| Superblock::parse(bytes).ok())
}

/// A digest as the tag of a device: its 64 hexadecimal digits fill the tag. That of the beginning if there is no other.
pub(crate) fn tag_of(base: &Base) -> Vec<u8> {
    let digest = if base.has_digest() { base.digest } else { base.head };
    hex::encode(digest).into_bytes()
}

fn uuid_text(uuid: [u8; 16]) -> String {
    let hex = format!("{:032x}", u128::from_be_bytes(uuid));
    let part = |range| hex.get(range).unwrap_or_default();
    [part(0..8), part(8..12), part(12..16), part(16..20), part(20..32)].join("-")
}
