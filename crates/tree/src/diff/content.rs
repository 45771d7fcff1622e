//! Where do the bytes of two regular files first differ?

use std::ops::Range;

use super::{Change, DiffError, Side};
use crate::{Content, ContentError, DataRange, Filesystem, InodeIndex};

/// A stretch of two files of the same size, to be compared.
pub(super) struct Segment {
    pub(super) left: InodeIndex,
    pub(super) right: InodeIndex,
    pub(super) range: Range<u64>,
}

/// Two buffers of the same size, for pieces of two files.
pub(super) struct Buffers {
    left: Box<[u8]>,
    right: Box<[u8]>,
}

impl Buffers {
    /// Small enough that both stay in a core's cache, large enough that calls cost nothing.
    const SIZE: usize = 256 << 10;

    pub(super) fn new() -> Self {
        let buffer = || vec![0; Self::SIZE].into_boxed_slice();
        Self { left: buffer(), right: buffer() }
    }
}

/// The first difference within a segment.
pub(super) fn compare(
    (left, right): (Filesystem<'_>, Filesystem<'_>),
    segment: &Segment,
    buffers: &mut Buffers,
) -> Result<Option<Change>, DiffError> {
    let mut comparison = Comparison {
        left: open(left, segment.left, Side::Left)?,
        right: open(right, segment.right, Side::Right)?,
        buffers,
    };
    let change = comparison.run(segment.range.clone())?;
    check(Side::Left, comparison.left.check_unchanged())?;
    check(Side::Right, comparison.right.check_unchanged())?;
    Ok(change)
}

fn open(
    fs: Filesystem<'_>,
    inode: InodeIndex,
    side: Side,
) -> Result<Box<dyn Content + '_>, DiffError> {
    check(side, fs.open(inode))
}

fn check<T>(side: Side, result: Result<T, ContentError>) -> Result<T, DiffError> {
    result.map_err(|error| DiffError::new(side, error))
}

struct Comparison<'a> {
    left: Box<dyn Content + 'a>,
    right: Box<dyn Content + 'a>,
    buffers: &'a mut Buffers,
}

impl Comparison<'_> {
    fn run(&mut self, range: Range<u64>) -> Result<Option<Change>, DiffError> {
        let mut position = range.start;
        while position < range.end {
            let (both_holes, end) = self.ranges_at(position)?;
            let end = end.clamp(position.saturating_add(1), range.end);
            if !both_holes && let Some(change) = self.compare_data(position..end)? {
                return Ok(Some(change));
            }
            position = end;
        }
        Ok(None)
    }

    /// Whether there are holes in both files, and up to where both are what they are.
    fn ranges_at(&self, position: u64) -> Result<(bool, u64), DiffError> {
        let left = check(Side::Left, self.left.range_at(position))?;
        let right = check(Side::Right, self.right.range_at(position))?;
        let ((left_hole, left_end), (right_hole, right_end)) = (is_hole(left), is_hole(right));
        Ok((left_hole && right_hole, left_end.min(right_end)))
    }

    fn compare_data(&mut self, range: Range<u64>) -> Result<Option<Change>, DiffError> {
        let mut position = range.start;
        while position < range.end {
            let length = usize::try_from(range.end - position).unwrap_or(usize::MAX);
            let length = length.min(Buffers::SIZE);
            let (left, _) = self.buffers.left.split_at_mut(length);
            let (right, _) = self.buffers.right.split_at_mut(length);
            check(Side::Left, self.left.read_at(left, position))?;
            check(Side::Right, self.right.read_at(right, position))?;
            if left != right {
                return Ok(first_difference(left, right, position));
            }
            position = position.saturating_add(length as u64);
        }
        Ok(None)
    }
}

const fn is_hole(range: DataRange) -> (bool, u64) {
    match range {
        DataRange::Hole { end } => (true, end),
        DataRange::Data { end } => (false, end),
    }
}

fn first_difference(left: &[u8], right: &[u8], start: u64) -> Option<Change> {
    let bytes = left.iter().zip(right);
    let (position, (left, right)) =
        (start..).zip(bytes).find(|(_, (left, right))| left != right)?;
    Some(Change::Content { position, left: *left, right: *right })
}
