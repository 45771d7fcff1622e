//! Locates the superblock and the tables that are in no inode.

use std::ops::Range;

use lith_format::{
    device_table::DEVICE_SLOT_SIZE,
    features::{Compat, Incompat},
    superblock::{EXT_SLOT_SIZE, SUPERBLOCK_POSITION, SUPERBLOCK_SIZE},
};
use lith_reader::Image;

/// A table of the primary device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Table {
    /// The superblock with its extension slots and the compression configs that follow it.
    Superblock,
    /// The device table.
    Devices,
    /// The long xattr name prefixes.
    XattrPrefixes,
}

/// The tables of an image with their bytes on the primary device; an absent table is empty.
#[must_use]
pub fn tables(image: &Image) -> Vec<(Table, Range<u64>)> {
    let sb = image.superblock();
    let has_configs = sb.incompat.contains(Incompat::COMPR_CFGS);
    let configs = if has_configs { image.configs().size() } else { 0 };
    let slots = SUPERBLOCK_SIZE + usize::from(sb.ext_slots) * EXT_SLOT_SIZE;
    let devices = image.device_map().slots.len() * DEVICE_SLOT_SIZE;
    let range = |start: u64, length: usize| start..start.saturating_add(length as u64);
    let mut tables = vec![
        (Table::Superblock, range(SUPERBLOCK_POSITION, sb.size().max(slots) + configs)),
        (Table::Devices, range(sb.device_table_position(), devices)),
    ];
    // Otherwise the prefixes are in the packed or the metabox inode.
    let has_special = image.packed_inode().is_some() || image.metabox_inode().is_some();
    if !has_special || sb.compat.contains(Compat::PLAIN_XATTR_PFX) {
        let mut prefixes = Vec::new();
        image.xattr_prefixes().encode_into(&mut prefixes);
        tables.push((Table::XattrPrefixes, range(sb.xattr_prefix_position(), prefixes.len())));
    }
    tables
}

#[cfg(test)]
mod tests {
    use lith_device::FileDevice;

    use super::*;

    #[test]
    fn tables_are_where_the_superblock_locates_them() {
        for (name, expected) in [("01-plain", 1), ("27-xattr-prefix", 2), ("15-blobdev", 2)] {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden");
            let path = format!("{folder}/{name}.erofs");
            let device = FileDevice::open(path).unwrap();
            let devices: Vec<Box<dyn lith_device::ReadAt>> = match name {
                "15-blobdev" => {
                    let blob = format!("{folder}/{name}.blob");
                    vec![Box::new(device), Box::new(FileDevice::open(blob).unwrap())]
                }
                _ => vec![Box::new(device)],
            };
            let image = Image::open_with(devices, lith_reader::Options::default()).unwrap();
            let found = tables(&image);
            assert_eq!(found[0].1.start, SUPERBLOCK_POSITION);
            let present = found.iter().filter(|(_, range)| !range.is_empty());
            assert_eq!(present.count(), expected, "{name}: {found:?}");
        }
    }
}
