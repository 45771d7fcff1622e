//! Computes the digest by which fs-verity of Linux knows a file.

use std::num::NonZeroUsize;

use lith_device::ReadAt;
use lith_parallel::try_map;
use sha2::{Digest as _, Sha256};
use zerocopy::{Immutable, IntoBytes, little_endian::U64};

use crate::{
    VerityError,
    hash::{Digest, Hasher},
};

/// Bytes of a block, of data and of digests.
const BLOCK: usize = 4096;
/// Blocks that a thread hashes at once.
const STEP: u64 = 256;

/// `struct fsverity_descriptor` of Linux, without a signature.
#[derive(IntoBytes, Immutable)]
#[repr(C)]
struct Descriptor {
    version: u8,
    hash_algorithm: u8,
    log_blocksize: u8,
    salt_size: u8,
    reserved_1: [u8; 4],
    data_size: U64,

    root_hash: [u8; 64],

    salt: [u8; 32],

    reserved_2: [u8; 144],
}

const _: () = assert!(size_of::<Descriptor>() == 256);

/// The digest of a file as `fsverity digest` prints it: SHA-256, blocks of 4 KiB, no salt.
///
/// # Errors
/// [`VerityError::Device`] if the file can't be read.
pub fn fsverity_digest(file: &dyn ReadAt, workers: NonZeroUsize) -> Result<Digest, VerityError> {
    let hasher = Hasher::new(&[]);
    let mut root_hash = [0; 64];
    let top = root(file, &hasher, workers)?;
    root_hash.iter_mut().zip(top).for_each(|(to, from)| *to = from);
    let descriptor = Descriptor {
        version: 1,
        hash_algorithm: 1,
        log_blocksize: 12,
        salt_size: 0,
        reserved_1: [0; 4],
        data_size: file.size().into(),
        root_hash,
        salt: [0; 32],
        reserved_2: [0; 144],
    };
    Ok(Sha256::digest(descriptor.as_bytes()).into())
}

/// The digest at the top of the tree; zeros for an empty file.
fn root(file: &dyn ReadAt, hasher: &Hasher, workers: NonZeroUsize) -> Result<Digest, VerityError> {
    let bytes = BLOCK as u64 * STEP;
    let steps: Vec<u64> = (0..file.size().div_ceil(bytes)).collect();
    let digests = try_map(&steps, workers, Vec::new, |buffer, step| {
        let left = (file.size() - step * bytes).min(bytes);
        let left = usize::try_from(left).expect("no more than a step");
        buffer.resize(left, 0);
        file.read_at(buffer, step * bytes)?;
        // The last block is filled up with zeros.
        buffer.resize(left.next_multiple_of(BLOCK), 0);
        Ok::<_, VerityError>(hasher.hash_each(buffer, BLOCK).collect::<Vec<_>>())
    })?;
    let mut digests = digests.concat();
    while digests.len() > 1 {
        let mut blocks = digests.as_flattened().to_vec();
        blocks.resize(blocks.len().next_multiple_of(BLOCK), 0);
        digests = hasher.hash_each(&blocks, BLOCK).collect();
    }
    Ok(digests.first().copied().unwrap_or_default())
}
