//! How much work does the size of an image justify?
//!
//! Structures of an image can refer to the same bytes again and again, so that a small image asks for years of work. A
//! sound one does not come near these bounds.

use lith_reader::Image;

use crate::FactsError;

/// What small images may ask for whatever their size.
const FLOOR: u64 = 64 << 20;
/// The same for ranges that are met while others are claimed.
const STEPS: u64 = 4 << 20;

/// The work that may still be done.
#[derive(Debug)]
pub(crate) struct Budget {
    /// Extents: each has two bytes of metadata of its own, or far more.
    extents: u64,
    /// Bytes of directories: names are stored once, but for equal directories in a packed inode.
    directories: u64,
    /// Bytes of extended attributes beside inodes.
    xattrs: u64,
    /// Ranges that are met while others are claimed: not more than there are inodes and extents.
    pub(crate) steps: u64,
}

impl Budget {
    pub(crate) fn new(image: &Image) -> Self {
        let size = |inode: Option<&lith_reader::Inode>| inode.map_or(0, |inode| inode.size);
        let metadata = image.device_size(0).saturating_add(size(image.metabox_inode()));
        let stored = metadata.saturating_add(size(image.packed_inode()));
        let all = stored.saturating_add(extra_devices(image));
        let times = |factor: u64| FLOOR.saturating_add(stored.saturating_mul(factor));
        Self {
            extents: metadata.saturating_add(1),
            directories: times(16),
            xattrs: times(4),
            steps: STEPS.saturating_add(all / 32),
        }
    }

    /// Asks for another extent.
    pub(crate) fn take_extent(&mut self) -> Result<(), FactsError> {
        take(&mut self.extents, 1, "extents")
    }

    /// Asks for a directory of so many bytes.
    pub(crate) fn take_directory(&mut self, bytes: u64) -> Result<(), FactsError> {
        take(&mut self.directories, bytes, "directories")
    }

    /// Asks for extended attributes of so many bytes.
    pub(crate) fn take_xattrs(&mut self, bytes: u64) -> Result<(), FactsError> {
        take(&mut self.xattrs, bytes, "extended attributes")
    }
}

fn extra_devices(image: &Image) -> u64 {
    let count = u16::try_from(image.device_map().slots.len()).unwrap_or(u16::MAX);
    (1..=count).fold(0, |sum: u64, device| sum.saturating_add(image.device_size(device)))
}

fn take(left: &mut u64, amount: u64, what: &'static str) -> Result<(), FactsError> {
    *left = left.checked_sub(amount).ok_or(FactsError::WorkLimit { what })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_can_be_taken_and_no_more() {
        let mut left = 10;
        take(&mut left, 10, "extents").unwrap();
        let error = take(&mut left, 1, "extents").unwrap_err();
        assert!(error.to_string().contains("its extents overlap"), "{error}");
    }
}
