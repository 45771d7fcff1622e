//! How much work does the size of an image justify?
//!
//! Structures of an image can refer to the same bytes again and again, so that a small image asks for years of
//! work. A sound one does not come near these bounds; what goes beyond becomes [`crate::Rule::WorkLimit`].

use lith_reader::Image;

/// Damaged blocks after which the rest of a directory is not read.
pub(crate) const BAD_BLOCKS: u32 = 64;

/// Damaged extents of one piece of a file that are told apart.
pub(crate) const BAD_EXTENTS: u32 = 64;

/// Levels of directories that a path in a finding tells.
pub(crate) const PATH_LEVELS: usize = 2048;

/// Bytes that a path in a finding has at most.
pub(crate) const PATH_BYTES: usize = 4096;

/// What small images may ask for whatever their size.
const FLOOR: u64 = 64 << 20;

/// Work of one kind that may still be done.
#[derive(Debug)]
pub(crate) struct Allowance {
    left: u64,
    ended: bool,
}

/// Whether work may be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Grant {
    /// It may.
    Given,
    /// It may not, which was not so before.
    Ended,
    /// It may not.
    Refused,
}

impl Allowance {
    const fn new(left: u64) -> Self {
        Self { left, ended: false }
    }

    /// All of it, which is gone here then.
    pub(crate) const fn hand_over(&mut self) -> Self {
        std::mem::replace(self, Self::new(0))
    }

    /// Asks for `amount`. Nothing is given anymore after a refusal.
    pub(crate) const fn take(&mut self, amount: u64) -> Grant {
        if self.ended {
            return Grant::Refused;
        }
        if let Some(left) = self.left.checked_sub(amount) {
            self.left = left;
            return Grant::Given;
        }
        self.ended = true;
        Grant::Ended
    }
}

/// All work that is bounded.
#[derive(Debug)]
pub(crate) struct Budget {
    /// Extents: each has two bytes of metadata of its own, or far more.
    pub(crate) extents: Allowance,
    /// Indexes of lclusters: the same holds for them.
    pub(crate) indexes: Allowance,
    /// Bytes of directories: names are stored once, but for equal directories in a packed inode.
    pub(crate) directories: Allowance,
    /// Stored bytes that are decoded though they were before, as parts of other extents.
    pub(crate) repeated: Allowance,
    /// Bytes of xattrs: each is stored once, and looked at once if it is shared.
    pub(crate) xattrs: Allowance,
}

impl Budget {
    pub(crate) fn new(image: &Image) -> Self {
        let metabox = image.metabox_inode().map_or(0, |inode| inode.size);
        let metadata = image.device_size(0).saturating_add(metabox);
        let packed = image.packed_inode().map_or(0, |inode| inode.size);
        let stored = metadata.saturating_add(packed).saturating_add(extra_devices(image));
        let times =
            |factor: u64| Allowance::new(FLOOR.saturating_add(stored.saturating_mul(factor)));
        Self {
            extents: Allowance::new(metadata.saturating_add(1)),
            indexes: Allowance::new(metadata.saturating_add(1)),
            directories: times(16),
            repeated: times(4),
            xattrs: times(4),
        }
    }
}

fn extra_devices(image: &Image) -> u64 {
    let count = u16::try_from(image.device_map().slots.len()).unwrap_or(u16::MAX);
    (1..=count).fold(0, |sum: u64, device| sum.saturating_add(image.device_size(device)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allowance_ends_once_and_for_all() {
        let mut allowance = Allowance::new(10);
        assert_eq!(allowance.take(4), Grant::Given);
        assert_eq!(allowance.take(7), Grant::Ended);
        assert_eq!(allowance.take(1), Grant::Refused);
        let mut exact = Allowance::new(10);
        assert_eq!(exact.take(10), Grant::Given);
        assert_eq!(exact.take(1), Grant::Ended);
        assert_eq!(exact.take(0), Grant::Refused);
    }
}
