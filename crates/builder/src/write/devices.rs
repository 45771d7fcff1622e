//! Makes the slots of the device table.

use lith_format::{addr::Blkaddr, addr::BlockBits, device_table::DeviceSlot};

use crate::KnownDevice;

/// The slots of the devices. In the unified address space the first follows the image's own `primary` blocks, and each
/// the one before it, unless its address is known. A device for chunks, which is the only one, has `blob` blocks.
pub(super) fn slots(
    devices: &[KnownDevice],
    (block, primary): (BlockBits, u64),
    blob: Option<u64>,
) -> Vec<DeviceSlot> {
    let mut next = primary;
    let slot = |known: &KnownDevice| {
        let blocks = blob.unwrap_or_else(|| block.blocks_for(known.device.bytes));
        let mut raw_tag = [0; 64];
        for (to, from) in raw_tag.iter_mut().zip(&known.device.tag) {
            *to = *from;
        }
        let uniaddr = known.uniaddr.unwrap_or(Blkaddr(next));
        next = uniaddr.0.saturating_add(blocks);
        DeviceSlot { raw_tag, blocks, uniaddr }
    };
    devices.iter().map(slot).collect()
}

#[cfg(test)]
mod tests {
    use lith_tree::ExtraDevice;

    use super::*;

    #[test]
    fn devices_follow_each_other_in_whole_blocks() {
        let device = |bytes, tag: &[u8], uniaddr: Option<u64>| KnownDevice {
            device: ExtraDevice { bytes, tag: tag.to_vec() },
            uniaddr: uniaddr.map(Blkaddr),
        };
        let one = [device(4097, b"one", None), device(8192, b"", None)];
        let more = [device(1, &[b'x'; 70], None), device(9, b"", Some(99)), device(9, b"", None)];
        let slots = slots(&[one.as_slice(), &more].concat(), (BlockBits::DEFAULT, 10), None);
        let places: Vec<_> = slots.iter().map(|slot| (slot.uniaddr.0, slot.blocks)).collect();
        assert_eq!(places, [(10, 2), (12, 2), (14, 1), (99, 1), (100, 1)]);
        assert_eq!((slots[0].tag(), slots[1].tag()), (&b"one"[..], &b""[..]));
        assert_eq!(slots[2].raw_tag, [b'x'; 64]);
    }
}
