//! Locates the bytes of an image's files, for another image to refer to them.
//!
//! An image without extra devices is one device of the other image. An image with extra devices, as the index of a tar,
//! passes on these; the bytes that it stores itself can't be referred to.

use lith_format::{
    addr::BlockBits,
    device_table::{DevicePa, DeviceSlot},
};
use lith_reader::{Error, ExtentKind, File, Image, Place};
use lith_tree::{Elsewhere, ExtraDevice};

/// An image's devices.
#[derive(Debug)]
pub(super) struct Referred {
    /// The image itself.
    whole: ExtraDevice,
    slots: Vec<DeviceSlot>,
    block: BlockBits,
}

impl Referred {
    pub(super) fn new(image: &Image) -> Self {
        let superblock = image.superblock();
        let tag = format!("{:032x}", u128::from_be_bytes(superblock.uuid));
        let bytes = bytes(superblock.blocks, superblock.block);
        Self {
            whole: ExtraDevice { bytes, tag: tag.into_bytes() },
            slots: image.device_map().slots.clone(),
            block: superblock.block,
        }
    }

    /// The devices to refer to; those without a tag get the image's.
    pub(super) fn devices(&self) -> Vec<ExtraDevice> {
        if self.slots.is_empty() {
            return vec![self.whole.clone()];
        }
        let device = |slot: &DeviceSlot| {
            let tag = if slot.tag().is_empty() { &*self.whole.tag } else { slot.tag() };
            ExtraDevice { bytes: bytes(slot.blocks, self.block), tag: tag.to_vec() }
        };
        self.slots.iter().map(device).collect()
    }

    /// Where a file is stored, if all of it is uncompressed and in whole blocks; else `None`.
    pub(super) fn stretches(&self, file: &File<'_>) -> Result<Option<Vec<Elsewhere>>, Error> {
        let mut stretches: Vec<Elsewhere> = Vec::new();
        for extent in file.extents() {
            let extent = extent?;
            let place = match (extent.kind, extent.place) {
                (ExtentKind::Hole, _) => None,
                (ExtentKind::Flat | ExtentKind::Chunk, Place::Device(at)) => {
                    let Some(place) = self.number(at) else { return Ok(None) };
                    Some(place)
                }
                _ => return Ok(None),
            };
            match stretches.last_mut() {
                Some(last) if continues(last, place) => last.len += extent.len,
                _ => stretches.push(Elsewhere { place, len: extent.len }),
            }
        }
        Ok((!stretches.is_empty()).then_some(stretches))
    }

    /// The index of the device and the byte on it.
    fn number(&self, at: DevicePa) -> Option<(usize, u64)> {
        match usize::from(at.device).checked_sub(1) {
            Some(number) => Some((number, at.pa.0)),
            None if self.slots.is_empty() => Some((0, at.pa.0)),
            // One file may hold all devices, consecutively.
            None => self.slots.iter().enumerate().find_map(|(number, slot)| {
                let start = slot.uniaddr.to_pa(self.block).filter(|start| start.0 > 0)?;
                let relative = at.pa.0.checked_sub(start.0)?;
                (relative < bytes(slot.blocks, self.block)).then_some((number, relative))
            }),
        }
    }
}

fn bytes(blocks: u64, block: BlockBits) -> u64 {
    blocks.saturating_mul(block.size().into())
}

/// Whether a stretch's next byte is at `place`.
fn continues(last: &Elsewhere, place: Option<(usize, u64)>) -> bool {
    match (last.place, place) {
        (Some((one, at)), Some((other, next))) => {
            one == other && at.checked_add(last.len) == Some(next)
        }
        (None, None) => true,
        _ => false,
    }
}
