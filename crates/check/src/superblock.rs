//! Does the superblock say the truth about the image as a whole?

use lith_format::{
    addr::BlockBits,
    device_table::{DEVICE_SLOT_SIZE, DeviceSlot},
    features::{Compat, Incompat},
    superblock::{EXT_SLOT_SIZE, SUPERBLOCK_POSITION, SUPERBLOCK_SIZE},
};
use lith_reader::{Image, Space};

use crate::{findings::Log, ledger::Ledger, maps::slot_size, ranges::Ranges, raw::Raw, rule::Rule};

/// Positions in the superblock, and lengths, of what has no meaning.
const RESERVED: [(u64, usize); 2] = [(0x6a, 2), (0x78, 8)];

/// Looks at the superblock and the tables that it leads to.
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
    let mut unified = Ranges::default();
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
    unified: &mut Ranges,
) {
    if slot.uniaddr.0 == 0 || slot.blocks == 0 {
        return;
    }
    let end = slot.uniaddr.checked_add(slot.blocks).filter(|end| end.to_pa(block).is_some());
    let Some(end) = end else {
        log.image(Rule::DeviceTable, format!("device {device} ends beyond all addresses"));
        return;
    };
    let mut overlaps = false;
    unified.insert(slot.uniaddr.0..end.0, |_| overlaps = true);
    if overlaps {
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

/// Notes where the superblock and its tables lie.
pub(crate) fn claim(image: &Image, ledger: &mut Ledger) {
    let sb = image.superblock();
    let has_configs = sb.incompat.contains(Incompat::COMPR_CFGS);
    let configs = if has_configs { image.configs().size() } else { 0 };
    let head = sb.size().max(SUPERBLOCK_SIZE + usize::from(sb.ext_slots) * EXT_SLOT_SIZE);
    let end = SUPERBLOCK_POSITION + (head + configs) as u64;
    ledger.add_table(SUPERBLOCK_POSITION..end);
    let (slots, start) = (image.device_map().slots.len(), sb.device_table_position());
    ledger.add_table(start..start + (slots * DEVICE_SLOT_SIZE) as u64);
    let elsewhere = image.packed_inode().is_some() || image.metabox_inode().is_some();
    if !elsewhere || sb.compat.contains(Compat::PLAIN_XATTR_PFX) {
        let start = sb.xattr_prefix_position();
        ledger.add_table(start..start + prefixes_size(image));
    }
}

fn prefixes_size(image: &Image) -> u64 {
    let mut table = Vec::new();
    image.xattr_prefixes().encode_into(&mut table);
    table.len() as u64
}
