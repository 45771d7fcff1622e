//! Which devices does an image refer to beside the one that it lies on?

use std::fs::File;

use lith_format::{
    addr::{Blkaddr, BlockBits},
    device_table::{DEVICE_SLOT_SIZE, DeviceSlot},
    kernel::Capability,
};
use lith_tree::{Contents, ExtraDevice};

use crate::{BuildError, DataImport, Options};

/// The device that all chunks are written to.
#[derive(Debug)]
pub(crate) struct Blob<'a> {
    pub(crate) file: &'a File,
    /// Its next free block.
    pub(crate) next: u64,
}

impl Blob<'_> {
    /// Its number among the devices of the image, of which it is the only one beside the first.
    pub(crate) const DEVICE: u16 = 1;
}

/// The devices that an image of these contents refers to. The size of the one that chunks are written to is not known
/// yet.
pub(crate) fn extra_devices(
    contents: &dyn Contents,
    options: &Options,
    blob: Option<&File>,
) -> Result<Vec<ExtraDevice>, BuildError> {
    let mut devices = match options.data {
        DataImport::Full => contents.devices(),
        DataImport::Reserved | DataImport::Zeros => Vec::new(),
    };
    if blob.is_some() {
        options.check_blob()?;
        if !devices.is_empty() {
            return Err(refused("together with files on other devices"));
        }
        devices.push(ExtraDevice { bytes: 0, tag: Vec::new() });
    }
    if u16::try_from(devices.len()).is_err() {
        return Err(refused(&format!("beside {} others", devices.len() - 1)));
    }
    if !devices.is_empty() {
        options.require(Capability::Devices)?;
    }
    Ok(devices)
}

fn refused(found: &str) -> BuildError {
    let expected = "either one for chunks, or at most 65535 with the files of the source".into();
    BuildError::Option { option: "device", found: found.into(), expected }
}

/// Bytes of the table of so many devices.
pub(crate) const fn table_size(devices: usize) -> u64 {
    devices as u64 * DEVICE_SLOT_SIZE as u64
}

/// The slots of the devices, of which the first follows the image's own blocks and each the one before it.
pub(crate) fn slots(
    devices: &[ExtraDevice],
    (block, primary): (BlockBits, u64),
    blob: Option<&Blob<'_>>,
) -> Vec<DeviceSlot> {
    let mut uniaddr = primary;
    let slot = |device: &ExtraDevice| {
        let blocks = blob.map_or_else(|| block.blocks_for(device.bytes), |blob| blob.next);
        let mut raw_tag = [0; 64];
        for (to, from) in raw_tag.iter_mut().zip(&device.tag) {
            *to = *from;
        }
        let slot = DeviceSlot { raw_tag, blocks, uniaddr: Blkaddr(uniaddr) };
        uniaddr = uniaddr.saturating_add(blocks);
        slot
    };
    devices.iter().map(slot).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_follow_each_other_in_whole_blocks() {
        let device = |bytes, tag: &[u8]| ExtraDevice { bytes, tag: tag.to_vec() };
        let devices = [device(4097, b"one"), device(8192, b""), device(1, &[b'x'; 70])];
        let slots = slots(&devices, (BlockBits::DEFAULT, 10), None);
        let places: Vec<_> = slots.iter().map(|slot| (slot.uniaddr.0, slot.blocks)).collect();
        assert_eq!(places, [(10, 2), (12, 2), (14, 1)]);
        assert_eq!((slots[0].tag(), slots[1].tag()), (&b"one"[..], &b""[..]));
        assert_eq!(slots[2].raw_tag, [b'x'; 64]);
    }
}
