//! Defines [`Identity`], what a tree has beside the digests of its data.

use lith_device::{DeviceError, ReadAt};
use sha2::{Digest as _, Sha256};

/// Bytes at the beginning of the data that decide: an image's superblock, with its checksum and its UUID, is among them.
const DECISIVE: usize = 4096;

/// The salt and the UUID of a tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// What is hashed in front of each block.
    pub salt: Vec<u8>,
    /// Tells hash trees apart.
    pub uuid: [u8; 16],
}

impl Identity {
    /// Those that follow from the beginning of the data, so that the same image gets the same tree.
    ///
    /// # Errors
    /// [`DeviceError`] if that can't be read.
    pub fn of(data: &dyn ReadAt) -> Result<Self, DeviceError> {
        let len = usize::try_from(data.size()).map_or(DECISIVE, |size| size.min(DECISIVE));
        let mut start = vec![0; len];
        data.read_at(&mut start, 0)?;
        let derive = |purpose: &[u8]| -> [u8; 32] {
            Sha256::new_with_prefix(purpose).chain_update(&start).finalize().into()
        };
        let mut uuid = [0; 16];
        uuid.iter_mut().zip(derive(b"lith verity uuid")).for_each(|(to, from)| *to = from);
        Ok(Self { salt: derive(b"lith verity salt").to_vec(), uuid: version_8(uuid) })
    }
}

/// A UUID of version 8, whose bits are free except version and variant (RFC 9562, section 5.8).
const fn version_8(bytes: [u8; 16]) -> [u8; 16] {
    let free = !(0xf << 76 | 0x3 << 62);
    (u128::from_be_bytes(bytes) & free | 0x8 << 76 | 0x2 << 62).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use lith_device::MemoryDevice;

    use super::*;

    #[test]
    fn it_follows_from_the_first_bytes() {
        let of = |bytes: Vec<u8>| Identity::of(&MemoryDevice::new(bytes)).unwrap();
        let one = of(vec![1; 9000]);
        assert_eq!(one, of([vec![1; 4096], vec![2; 9]].concat()));
        assert_ne!(one, of(vec![2; 9000]));
        assert_eq!(one.salt.len(), 32);
        assert_eq!((one.uuid[6] >> 4, one.uuid[8] >> 6), (8, 2));
        of(Vec::new());
    }
}
