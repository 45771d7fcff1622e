//! Defines [`SharedInode`]: how the stored bytes of the packed or metabox inode are attributed to what is in it.

use std::ops::Range;

use lith_reader::Extent;
use lith_survey::Allowance;

use crate::{claims::Claims, error::FactsError};

/// The content of the packed or the metabox inode, with the stored bytes of its parts.
#[derive(Debug)]
pub(crate) struct SharedInode {
    /// Its extents in order.
    extents: Vec<Stored>,
    /// All its stored bytes.
    pub(crate) total: u64,
    /// The bytes of its content that are attributed.
    taken: Claims<()>,
}

/// The stored bytes of an extent.
#[derive(Clone, Copy, Debug)]
struct Stored {
    la: u64,
    len: u64,
    /// Those of all preceding extents.
    before: u64,
    bytes: u64,
}

impl SharedInode {
    /// An empty inode; `steps` as for [`Claims::new`].
    pub(crate) fn new(steps: Allowance) -> Self {
        Self { extents: Vec::new(), total: 0, taken: Claims::new(steps) }
    }

    /// Adds the next extent, which has `bytes` stored bytes.
    pub(crate) fn push(&mut self, extent: &Extent, bytes: u64) {
        let Extent { la, len, .. } = *extent;
        self.extents.push(Stored { la, len, before: self.total, bytes });
        self.total = self.total.saturating_add(bytes);
    }

    /// The stored bytes of a range: its share of each extent. Sums over adjacent ranges are exact.
    pub(crate) fn stored(&self, range: &Range<u64>) -> u64 {
        self.stored_before(range.end).saturating_sub(self.stored_before(range.start))
    }

    fn stored_before(&self, position: u64) -> u64 {
        let after = self.extents.partition_point(|extent| extent.la < position);
        let last = after.checked_sub(1).and_then(|last| self.extents.get(last));
        let Some(Stored { la, len, before, bytes }) = last.copied() else { return 0 };
        let part = (position - la).min(len);
        let part = u128::from(bytes) * u128::from(part) / u128::from(len.max(1));
        before.saturating_add(u64::try_from(part).unwrap_or(bytes))
    }

    /// Attributes the bytes of a range that were not attributed before. Returns their stored bytes, and their number.
    pub(crate) fn take(&mut self, range: Range<u64>) -> Result<(u64, u64), FactsError> {
        let mut parts = Vec::new();
        let bytes = self.taken.claim(range, (), |part| parts.push(part))?;
        let stored = parts.iter().fold(0, |sum: u64, part| sum.saturating_add(self.stored(part)));
        Ok((stored, bytes))
    }
}

#[cfg(test)]
mod tests {
    use lith_reader::{ExtentKind, Place};

    use super::*;

    #[test]
    fn parts_take_their_share_and_sum_up() {
        let mut shared = SharedInode::new(Allowance::new(1000));
        for (la, len, bytes) in [(0, 100, 33), (100, 7, 5), (107, 900, 100)] {
            let (kind, place) = (ExtentKind::Hole, Place::Nowhere);
            shared.push(&Extent { la, len, kind, place, plen: 0 }, bytes);
        }
        assert_eq!(shared.total, 138);
        assert_eq!((shared.stored(&(0..50)), shared.stored(&(50..100))), (16, 17));
        let parts = (0..1007).step_by(13).map(|at| shared.stored(&(at..(at + 13).min(1007))));
        assert_eq!(parts.sum::<u64>(), 138);
        assert_eq!(shared.stored(&(2000..3000)), 0);
        assert_eq!(shared.take(90..120).unwrap(), (10, 30));
        assert_eq!(shared.take(80..120).unwrap(), (3, 10));
        assert_eq!(shared.take(0..1007).unwrap(), (138 - 13, 1007 - 40));
    }
}
