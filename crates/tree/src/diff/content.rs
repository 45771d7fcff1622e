//! Finds the first difference between the bytes of two regular files.

use std::ops::Range;

use super::{Change, DiffError, pairs::Sides};
use crate::{Content, DataRange, Filesystem, InodeIndex};

/// A range of two files of the same size, to be compared.
pub(super) struct Segment {
    pub(super) files: Sides<InodeIndex>,
    pub(super) range: Range<u64>,
}

/// A buffer for each file, of the same size.
pub(super) type Buffers = Sides<Box<[u8]>>;

/// Small enough that both buffers fit the cache of a core, large enough that the cost of calls is negligible.
const BUFFER: usize = 256 << 10;

impl Buffers {
    pub(super) fn new() -> Self {
        let buffer = || vec![0; BUFFER].into_boxed_slice();
        Self { left: buffer(), right: buffer() }
    }
}

/// The first difference within a segment.
pub(super) fn compare(
    fs: Sides<Filesystem<'_>>,
    segment: &Segment,
    buffers: &mut Buffers,
) -> Result<Option<Change>, DiffError> {
    let mut comparison = Comparison {
        left: fs.left.open(segment.files.left).map_err(DiffError::Left)?,
        right: fs.right.open(segment.files.right).map_err(DiffError::Right)?,
        buffers,
    };
    let change = comparison.run(segment.range.clone())?;
    comparison.left.check_unchanged().map_err(DiffError::Left)?;
    comparison.right.check_unchanged().map_err(DiffError::Right)?;
    Ok(change)
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
            // Progress even if an implementation returns a range that ends where it starts.
            let end = end.clamp(position.saturating_add(1), range.end);
            if !both_holes && let Some(change) = self.compare_data(position..end)? {
                return Ok(Some(change));
            }
            position = end;
        }
        Ok(None)
    }

    /// Whether both files have a hole at `position`, and the end of the shorter of the two ranges there.
    fn ranges_at(&self, position: u64) -> Result<(bool, u64), DiffError> {
        let left = self.left.range_at(position).map_err(DiffError::Left)?;
        let right = self.right.range_at(position).map_err(DiffError::Right)?;
        let ((left_hole, left_end), (right_hole, right_end)) = (is_hole(left), is_hole(right));
        Ok((left_hole && right_hole, left_end.min(right_end)))
    }

    fn compare_data(&mut self, range: Range<u64>) -> Result<Option<Change>, DiffError> {
        let mut position = range.start;
        while position < range.end {
            let length = usize::try_from(range.end - position);
            let length = length.map_or(BUFFER, |length| length.min(BUFFER));
            let (left, _) = self.buffers.left.split_at_mut(length);
            let (right, _) = self.buffers.right.split_at_mut(length);
            self.left.read_at(left, position).map_err(DiffError::Left)?;
            self.right.read_at(right, position).map_err(DiffError::Right)?;
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
