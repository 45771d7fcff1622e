//! Checks the superblock and the device table against the devices and against reserved values.

use lith_format::{
    addr::BlockBits,
    device_table::DeviceSlot,
    features::Incompat,
    superblock::{SUPERBLOCK_POSITION, SUPERBLOCK_SIZE},
};
use lith_reader::{Image, Space};
use lith_survey::{Added, RangeSet};

use crate::{findings::Log, maps::slot_size, raw::Raw, rule::Rule};

/// Positions and lengths of the superblock's reserved fields.
const RESERVED: [(u64, usize); 2] = [(0x6a, 2), (0x78, 8)];

/// Checks the superblock and the device table.
pub(crate) fn check(image: &Image, log: &Log<'_>, raw: Option<&mut Raw<'_>>) {
    check_size(image, log);
    check_devices(image, log);
    if !image.superblock().volume_name.contains(&0) {
        log.image(Rule::SbLabel, "the volume's name has 16 bytes and no NUL");
    }
    if let Some(raw) = raw {
        check_reserved(image, log, raw);
    }
}

fn check_size(image: &Image, log: &Log<'_>) {
    let (sb, found) = (image.superblock(), image.device_size(0));
    let expected = sb.blocks.saturating_mul(sb.block.size().into());
    if found < expected {
        let detail = format!("{} blocks are {expected} bytes; there are {found}", sb.blocks);
        log.image(Rule::SbBlocks, detail);
    }
}

fn check_devices(image: &Image, log: &Log<'_>) {
    let map = image.device_map();
    let mut unified = RangeSet::default();
    for (slot, device) in map.slots.iter().zip(1..) {
        let expected = slot_size(map, slot.blocks);
        let found = image.device_size(device);
        if !map.flat && found < expected {
            let blocks = slot.blocks;
            let detail = format!(
                "{blocks} blocks of device {device} are {expected} bytes; there are {found}"
            );
            log.image(Rule::SbBlocks, detail);
        }
        check_unified(log, map.block, slot, device, &mut unified);
    }
}

fn check_unified(
    log: &Log<'_>,
    block: BlockBits,
    slot: &DeviceSlot,
    device: u16,
    unified: &mut RangeSet,
) {
    if slot.uniaddr.0 == 0 || slot.blocks == 0 {
        return;
    }
    let end = slot.uniaddr.checked_add(slot.blocks).filter(|end| end.to_pa(block).is_some());
    let Some(end) = end else {
        log.image(Rule::DeviceTable, format!("device {device} ends beyond all addresses"));
        return;
    };
    let Added { known, .. } = unified.add(slot.uniaddr.0..end.0, (), |_| ());
    if known > 0 {
        log.image(Rule::DeviceTable, format!("device {device} overlaps another one"));
    }
}

fn check_reserved(image: &Image, log: &Log<'_>, raw: &mut Raw<'_>) {
    let sb = image.superblock();
    let slot = SUPERBLOCK_SIZE as u64;
    let in_slot = sb.incompat.contains(Incompat::METABOX).then_some((slot + 8, 8));
    for (position, length) in RESERVED.into_iter().chain(in_slot) {
        let bytes = raw.bytes(Space::Primary, SUPERBLOCK_POSITION + position, length);
        if bytes.is_some_and(|bytes| bytes.iter().any(|byte| *byte != 0)) {
            let detail = format!("reserved bytes at {position:#x} of the superblock are set");
            log.image(Rule::ReservedSet, detail);
        }
    }
}
