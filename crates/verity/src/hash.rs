//! Hashes blocks with a salt, as format 1 of dm-verity does: the salt comes first.

use sha2::{Digest as _, Sha256};

/// A digest of a block.
pub(crate) type Digest = [u8; 32];

/// Bytes of a digest.
pub(crate) const DIGEST_SIZE: usize = 32;

/// Hashes blocks.
#[derive(Clone, Debug)]
pub(crate) struct Hasher {
    /// The state after the salt.
    salted: Sha256,
}

impl Hasher {
    pub(crate) fn new(salt: &[u8]) -> Self {
        Self { salted: Sha256::new_with_prefix(salt) }
    }

    pub(crate) fn hash(&self, block: &[u8]) -> Digest {
        self.salted.clone().chain_update(block).finalize().into()
    }
}
