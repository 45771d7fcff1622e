//! Checks the superblock and the device table against the devices and against reserved values.

use lith_format::{
    addr::BlockBits,
    device_table::DeviceSlot,
    features::Incompat,
    superblock::{SUPERBLOCK_POSITION, SUPERBLOCK_SIZE},
};
use lith_reader::{Image, Space};
use lith_survey::RangeSet;

use crate::{findings::Log, maps::slot_size, raw::Raw, rule::Rule};

/// Positions and lengths of the superblock's reserved fields.
const RESERVED: [(u64, usize); 2] = [(0x6a, 2), (0x78, 8)];

/// Checks the superblock and the device table.
pub(crate) fn check(image: &Image, log: &Log<'_>, raw: Option<&mut Raw<'_>>) {
    let (sb, map) = (image.superblock(), image.device_map());
    check_size(image, log, sb.blocks, 0);
    let mut unified = RangeSet::default();
    for (slot, device) in map.slots.iter().zip(1..) {
        if !map.flat {
            check_size(image, log, slot.blocks, device);
        }
        check_unified(log, map.block, slot, device, &mut unified);
    }
    if !sb.volume_name.contains(&0) {
        log.image(Rule::SbLabel, "the volume's name has 16 bytes and no NUL");
    }
    if let Some(raw) = raw {
        check_reserved(image, log, raw);
    }
}

/// Checks that a device has as many blocks as declared.
fn check_size(image: &Image, log: &Log<'_>, blocks: u64, device: u16) {
    let expected = slot_size(image.device_map(), blocks);
    let found = image.device_size(device);
    if found < expected {
        let of_device = if device == 0 { String::new() } else { format!(" of device {device}") };
        let detail = format!("{blocks} blocks{of_device} are {expected} bytes; there are {found}");
        log.image(Rule::SbBlocks, detail);
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
    if unified.add(slot.uniaddr.0..end.0, (), |_| ()) < slot.blocks {
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
