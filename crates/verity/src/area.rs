//! Finds the hash tree of an image.

use lith_device::{DeviceError, ReadAt};

use crate::{MAX_BLOCK, MIN_BLOCK, SUPERBLOCK_SIZE, Superblock, SuperblockError, VerityError};

/// Reads the superblock of a hash tree at a byte of a device.
///
/// # Errors
/// [`VerityError::Superblock`] if there is none that can be used, or the error of reading.
pub fn read_superblock(device: &dyn ReadAt, position: u64) -> Result<Superblock, VerityError> {
    let mut bytes = [0; SUPERBLOCK_SIZE];
    match device.read_at(&mut bytes, position) {
        Err(DeviceError::PastEnd { .. }) => Err(SuperblockError::Missing.into()),
        read => Ok(read.map(|()| Superblock::parse(&bytes))??),
    }
}

/// Where the superblock of the hash tree is that follows data of so many bytes on the same device: after them and what
/// fills up their last block. `None`: there is none.
///
/// # Errors
/// [`DeviceError`] if the device can't be read.
pub fn find_appended(device: &dyn ReadAt, data_bytes: u64) -> Result<Option<u64>, DeviceError> {
    let mut block = u64::from(MIN_BLOCK);
    while block <= u64::from(MAX_BLOCK) {
        let Some(position) = data_bytes.checked_next_multiple_of(block) else { break };
        match read_superblock(device, position) {
            Ok(found)
                if found.data_blocks.checked_mul(found.data_block.into()) == Some(position) =>
            {
                return Ok(Some(position));
            }
            Err(VerityError::Device(error)) => return Err(error),
            _ => block *= 2,
        }
    }
    Ok(None)
}
