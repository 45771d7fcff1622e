//! Writes a VMDK descriptor, by which virtual machines see an image and its devices as one disk.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use lith_reader::Image;

/// A disk's sector has 512 bytes.
const SECTOR_BITS: u8 = 9;
/// Sectors of an extent at most: 2 GiB.
const MOST_SECTORS: u64 = 1 << 22;
/// The geometry that the descriptor pretends.
const HEADS: u64 = 16;
const SECTORS_PER_TRACK: u64 = 63;

/// Writes a VMDK descriptor: a text that concatenates the image at `path` and its devices to one disk. A device without a path in
/// `devices` is at the path that is its tag.
///
/// # Errors
/// Those of `out`.
pub fn vmdk_descriptor(
    image: &Image,
    path: &Path,
    devices: &[PathBuf],
    out: &mut dyn Write,
) -> io::Result<()> {
    let superblock = image.superblock();
    let sectors = |blocks: u64| blocks << (superblock.block.bits() - SECTOR_BITS);
    let (id, _) = superblock.uuid.as_chunks::<4>();
    let id = id.iter().fold(0, |id, part| id ^ u32::from_le_bytes(*part));
    write!(out, "# Disk DescriptorFile\nversion=1\nCID={id:x}\nparentCID=ffffffff\n")?;
    write!(out, "createType=\"twoGbMaxExtentFlat\"\n\n# Extent description\n")?;
    let mut total = sectors(superblock.blocks);
    write_extents(out, path, total)?;
    for (number, slot) in image.device_map().slots.iter().enumerate() {
        let tag = lith_system::path(slot.tag());
        let path = devices.get(number).map_or(tag, PathBuf::as_path);
        write_extents(out, path, sectors(slot.blocks))?;
        total = total.saturating_add(sectors(slot.blocks));
    }
    let cylinders = total.div_ceil(HEADS * SECTORS_PER_TRACK);
    write!(out, "\n# The Disk Data Base\n#DDB\n\nddb.virtualHWVersion = \"4\"\n")?;
    writeln!(out, "ddb.geometry.cylinders = \"{cylinders}\"")?;
    writeln!(out, "ddb.geometry.heads = \"{HEADS}\"")?;
    writeln!(out, "ddb.geometry.sectors = \"{SECTORS_PER_TRACK}\"")?;
    writeln!(out, "ddb.adapterType = \"ide\"")
}

/// Writes the lines of one file with this number of sectors.
fn write_extents(out: &mut dyn Write, path: &Path, sectors: u64) -> io::Result<()> {
    let mut start = 0;
    while start < sectors {
        let count = MOST_SECTORS.min(sectors - start);
        write!(out, "RW {count} FLAT \"")?;
        out.write_all(path.as_os_str().as_encoded_bytes())?;
        writeln!(out, "\" {start}")?;
        start += count;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_have_2_gib_at_most() {
        let mut out = Vec::new();
        write_extents(&mut out, Path::new("a b"), (2 << 22) + 8).unwrap();
        let lines = String::from_utf8(out).unwrap();
        let lines: Vec<_> = lines.lines().collect();
        assert_eq!(
            lines,
            [
                "RW 4194304 FLAT \"a b\" 0",
                "RW 4194304 FLAT \"a b\" 4194304",
                "RW 8 FLAT \"a b\" 8388608"
            ]
        );
    }
}
