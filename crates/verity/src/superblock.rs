//! Defines [`Superblock`], which precedes a hash tree and says how it was made.

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U16, U32, U64},
};

/// Bytes of a superblock; the rest of its hash block is zeros.
pub const SUPERBLOCK_SIZE: usize = size_of::<RawSuperblock>();

/// The smallest block.
pub const MIN_BLOCK: u32 = 512;
/// The largest block; Linux reads none that is larger than its pages.
pub const MAX_BLOCK: u32 = 64 << 10;

/// The most bytes of a salt.
pub const MAX_SALT: usize = 256;

const SIGNATURE: [u8; 8] = *b"verity\0\0";
const VERSION: u32 = 1;
/// Format 1: the salt comes before the data, and digests are powers of two apart.
const HASH_TYPE: u32 = 1;

/// `struct verity_sb` of cryptsetup.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone, Copy)]
#[repr(C)]
struct RawSuperblock {
    signature: [u8; 8],
    version: U32,
    hash_type: U32,

    uuid: [u8; 16],

    algorithm: [u8; 32],

    data_block_size: U32,
    hash_block_size: U32,
    data_blocks: U64,

    salt_size: U16,
    padding_1: [u8; 6],
    salt: [u8; MAX_SALT],
    padding_2: [u8; 168],
}

const _: () = assert!(size_of::<RawSuperblock>() == 512);

/// How a hash tree was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Superblock {
    /// Tells hash trees apart; nothing is derived from it.
    pub uuid: [u8; 16],
    /// Bytes of a block of data.
    pub data_block: u32,
    /// Bytes of a block of digests.
    pub hash_block: u32,
    /// Blocks of data.
    pub data_blocks: u64,
    /// What is hashed in front of each block, at most [`MAX_SALT`] bytes.
    pub salt: Vec<u8>,
}

/// Why bytes are no superblock of a hash tree that can be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SuperblockError {
    /// Something else is there.
    #[error("no hash tree is there")]
    Missing,
    /// A newer version.
    #[error(
        "version {version}, format {hash_type} of the hash tree is not supported, only version 1, format 1"
    )]
    Version {
        /// Its version.
        version: u32,
        /// Its format; 0 is that of Chrome OS.
        hash_type: u32,
    },
    /// Another algorithm than SHA-256.
    #[error("the hash tree uses {0:?}; only sha256 is supported")]
    Algorithm(String),
    /// Blocks are too small or too large, or no power of two.
    #[error("the hash tree has blocks of {0} bytes; expected a power of two, 512 to 65536")]
    BlockSize(u32),
    /// The salt is longer than its field.
    #[error("the hash tree has a salt of {0} bytes, more than 256")]
    Salt(usize),
}

impl Superblock {
    /// Its bytes.
    ///
    /// # Errors
    /// [`SuperblockError`] if a size is out of range.
    pub fn encode(&self) -> Result<[u8; SUPERBLOCK_SIZE], SuperblockError> {
        self.check()?;
        let too_long = |_| SuperblockError::Salt(self.salt.len());
        let mut raw = RawSuperblock {
            signature: SIGNATURE,
            version: VERSION.into(),
            hash_type: HASH_TYPE.into(),
            uuid: self.uuid,
            algorithm: algorithm(),
            data_block_size: self.data_block.into(),
            hash_block_size: self.hash_block.into(),
            data_blocks: self.data_blocks.into(),
            salt_size: u16::try_from(self.salt.len()).map_err(too_long)?.into(),
            padding_1: [0; 6],
            salt: [0; MAX_SALT],
            padding_2: [0; 168],
        };
        raw.salt.iter_mut().zip(&self.salt).for_each(|(to, from)| *to = *from);
        Ok(zerocopy::transmute!(raw))
    }

    /// Parses the first bytes of a hash area.
    ///
    /// # Errors
    /// [`SuperblockError`] says what is there instead.
    pub fn parse(bytes: &[u8; SUPERBLOCK_SIZE]) -> Result<Self, SuperblockError> {
        let raw: RawSuperblock = zerocopy::transmute!(*bytes);
        if raw.signature != SIGNATURE {
            return Err(SuperblockError::Missing);
        }
        let (version, hash_type) = (raw.version.get(), raw.hash_type.get());
        if (version, hash_type) != (VERSION, HASH_TYPE) {
            return Err(SuperblockError::Version { version, hash_type });
        }
        if raw.algorithm != algorithm() {
            let name = String::from_utf8_lossy(&raw.algorithm);
            return Err(SuperblockError::Algorithm(name.trim_end_matches('\0').to_owned()));
        }
        let len = usize::from(raw.salt_size.get());
        let salt = raw.salt.get(..len).ok_or(SuperblockError::Salt(len))?.to_vec();
        let found = Self {
            uuid: raw.uuid,
            data_block: raw.data_block_size.get(),
            hash_block: raw.hash_block_size.get(),
            data_blocks: raw.data_blocks.get(),
            salt,
        };
        found.check()?;
        Ok(found)
    }

    pub(crate) fn check(&self) -> Result<(), SuperblockError> {
        if self.salt.len() > MAX_SALT {
            return Err(SuperblockError::Salt(self.salt.len()));
        }
        let sizes = [self.data_block, self.hash_block];
        match sizes.into_iter().find(|size| !is_block_size(*size)) {
            Some(wrong) => Err(SuperblockError::BlockSize(wrong)),
            None => Ok(()),
        }
    }
}

fn algorithm() -> [u8; 32] {
    let mut name = [0; 32];
    name.iter_mut().zip(b"sha256").for_each(|(to, from)| *to = *from);
    name
}

/// Whether blocks of a hash tree can have that many bytes.
const fn is_block_size(bytes: u32) -> bool {
    bytes.is_power_of_two() && bytes >= MIN_BLOCK && bytes <= MAX_BLOCK
}

#[cfg(test)]
mod tests {
    use super::*;

    fn superblock() -> Superblock {
        let (uuid, salt) = ([7; 16], vec![1, 2, 3]);
        Superblock { uuid, data_block: 4096, hash_block: 512, data_blocks: 99, salt }
    }

    #[test]
    fn what_is_encoded_is_parsed() {
        let bytes = superblock().encode().unwrap();
        assert_eq!(Superblock::parse(&bytes), Ok(superblock()));
    }

    #[test]
    fn others_are_refused() {
        let bytes = superblock().encode().unwrap();
        let changed = |at: usize, byte: u8| {
            let mut bytes = bytes;
            bytes[at] = byte;
            Superblock::parse(&bytes).unwrap_err()
        };
        assert_eq!(changed(0, 0), SuperblockError::Missing);
        assert_eq!(changed(8, 2), SuperblockError::Version { version: 2, hash_type: 1 });
        assert_eq!(changed(12, 0), SuperblockError::Version { version: 1, hash_type: 0 });
        assert_eq!(changed(35, b'5'), SuperblockError::Algorithm("sha556".into()));
        assert_eq!(changed(64, 1), SuperblockError::BlockSize(4097));
        assert_eq!(changed(69, 1), SuperblockError::BlockSize(256));
        assert_eq!(changed(81, 2), SuperblockError::Salt(515));
        let long = Superblock { salt: vec![0; 257], ..superblock() };
        assert_eq!(long.encode(), Err(SuperblockError::Salt(257)));
    }
}
