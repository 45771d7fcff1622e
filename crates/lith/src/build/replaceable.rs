//! Is what is at a path lost if an image takes its place? Defines [`is_replaceable`].

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use lith_format::superblock::{MAGIC, SUPERBLOCK_POSITION};
use lith_system::{FileAt, is_block_device};

/// The beginning of a device in which all common filesystems, partition tables and volumes have their mark.
const MARKED: usize = 128 << 10;

/// Whether an image that starts at byte `offset` may replace what is at `path` from there on: nothing, an EROFS image, or
/// a device whose beginning is all zeros. What can be no image at all, a folder for one, is left to whoever tries.
///
/// # Errors
/// The error of the operating system if what is there can't be read.
pub fn is_replaceable(path: &Path, offset: u64) -> io::Result<bool> {
    // What can't be examined can't be replaced either, which whoever tries reports.
    let Ok(metadata) = fs::metadata(path) else { return Ok(true) };
    let (is_file, is_device) = (metadata.is_file(), is_block_device(metadata.file_type()));
    if is_file && metadata.len() <= offset || !is_file && !is_device {
        return Ok(true);
    }
    let file = File::open(path)?;
    let mut magic = [0; 4];
    let at = offset.saturating_add(SUPERBLOCK_POSITION);
    let is_image = file.read_exact_at(&mut magic, at).is_ok() && magic == MAGIC.to_le_bytes();
    Ok(is_image || is_device && is_blank(&file, offset)?)
}

fn is_blank(device: &File, offset: u64) -> io::Result<bool> {
    let mut start = vec![0; MARKED];
    match device.read_exact_at(&mut start, offset) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
        Ok(()) => Ok(start.iter().all(|byte| *byte == 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_and_what_is_empty_from_the_offset_on_can_be_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        assert!(is_replaceable(&path, 0).unwrap() && is_replaceable(folder.path(), 0).unwrap());
        let mut image = vec![7; 5000];
        image.splice(1024..1028, MAGIC.to_le_bytes());
        for (content, offset, expected) in [
            (&b""[..], 0, true),
            (b"precious", 0, false),
            (b"precious", 8, true),
            (b"precious", 7, false),
            (&image, 0, true),
            (&image, 4, false),
            (&[&[0; 4], &*image].concat(), 4, true),
        ] {
            fs::write(&path, content).unwrap();
            let found = is_replaceable(&path, offset).unwrap();
            assert_eq!(found, expected, "{} bytes, {offset}", content.len());
        }
    }
}
