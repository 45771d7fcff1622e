//! Hashes blocks with a salt, as format 1 of dm-verity does: the salt comes first.

#[cfg(target_arch = "x86_64")]
mod pair;

use sha2::{Digest as _, Sha256};

#[cfg(target_arch = "x86_64")]
use pair::PairHasher;

/// A digest of a block.
pub(crate) type Digest = [u8; 32];

/// Bytes of a digest.
pub(crate) const DIGEST_SIZE: usize = 32;

/// Hashes blocks.
#[derive(Clone, Debug)]
pub(crate) struct Hasher {
    /// The state after the salt.
    salted: Sha256,
    #[cfg(target_arch = "x86_64")]
    pairs: Option<PairHasher>,
}

impl Hasher {
    pub(crate) fn new(salt: &[u8]) -> Self {
        Self {
            salted: Sha256::new_with_prefix(salt),
            #[cfg(target_arch = "x86_64")]
            pairs: PairHasher::new(salt),
        }
    }

    pub(crate) fn hash(&self, block: &[u8]) -> Digest {
        self.salted.clone().chain_update(block).finalize().into()
    }

    /// Hashes blocks of `size` bytes that follow each other, of which the last may be shorter. Faster than one by one.
    pub(crate) fn hash_each(&self, blocks: &[u8], size: usize) -> impl Iterator<Item = Digest> {
        blocks.chunks(2 * size).flat_map(move |both| {
            let (one, other) = both.split_at_checked(size).unwrap_or((both, &[]));
            let (one, other) = self.hash_two(one, other);
            [Some(one), other].into_iter().flatten()
        })
    }

    /// The digests of one block and of another one, unless that is empty.
    fn hash_two(&self, one: &[u8], other: &[u8]) -> (Digest, Option<Digest>) {
        #[cfg(target_arch = "x86_64")]
        if let Some([one, other]) = self.pairs.as_ref().and_then(|pairs| pairs.hash([one, other])) {
            return (one, Some(other));
        }
        (self.hash(one), (!other.is_empty()).then(|| self.hash(other)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random_bytes(random: &mut fastrand::Rng, length: usize) -> Vec<u8> {
        std::iter::repeat_with(|| random.u8(..)).take(length).collect()
    }

    fn alone(salt: &[u8], block: &[u8]) -> Digest {
        Sha256::new_with_prefix(salt).chain_update(block).finalize().into()
    }

    /// The example of FIPS 180-2 of one block, and that of two.
    #[test]
    fn digests_are_those_of_the_standard() {
        let known = [
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
        ];
        for (text, digest) in known {
            for salt in 0..text.len() {
                let (salt, block) = text.split_at(salt);
                let hasher = Hasher::new(salt.as_bytes());
                let blocks = block.repeat(3);
                let found = hasher.hash_each(blocks.as_bytes(), block.len());
                assert_eq!(found.map(hex::encode).collect::<Vec<_>>(), [digest; 3], "{salt}");
            }
        }
    }

    /// Lengths of salts and blocks around those of SHA-256's own blocks and of its padding.
    #[test]
    fn digests_are_those_of_blocks_hashed_alone() {
        let mut random = fastrand::Rng::with_seed(7);
        // Miri takes seconds for a few KiB.
        let (sizes, most, drawn): (&[usize], _, _) = if cfg!(miri) {
            (&[63, 120], 3, 1)
        } else {
            (&[1, 63, 64, 65, 100, 119, 120, 128, 512, 1000, 4096], 8, 600)
        };
        for salt in [0, 1, 31, 32, 55, 56, 63, 64, 65, 119, 120, 128, 200, 256] {
            let salt = random_bytes(&mut random, salt);
            let hasher = Hasher::new(&salt);
            for &size in sizes {
                let length = size * random.usize(2..=most) + random.usize(0..size);
                let blocks = random_bytes(&mut random, length);
                let found: Vec<_> = hasher.hash_each(&blocks, size).collect();
                let expected: Vec<_> =
                    blocks.chunks(size).map(|block| alone(&salt, block)).collect();
                assert_eq!(found, expected, "a salt of {} bytes, blocks of {size}", salt.len());
            }
        }
        for _ in 0..drawn {
            let (salt, size) = (random.usize(0..=256), random.usize(1..5000));
            let salt = random_bytes(&mut random, salt);
            let blocks = random_bytes(&mut random, 3 * size);
            let found: Vec<_> = Hasher::new(&salt).hash_each(&blocks, size).collect();
            let expected: Vec<_> = blocks.chunks(size).map(|block| alone(&salt, block)).collect();
            assert_eq!(found, expected, "a salt of {} bytes, blocks of {size}", salt.len());
        }
    }
}
