//! Cuts the content of files into [`Piece`]s, and these into batches for workers.

use std::{ops::Range, sync::Arc};

use lith_tree::{Content, ContentError, DataRange, InodeIndex};

use crate::{BuildError, Input, pipeline::Job};

/// The most pieces in a batch.
const BATCH_PIECES: usize = 256;
/// The most bytes in a batch of more than one piece.
const BATCH_BYTES: u64 = 1 << 20;

/// A position in a file, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Position {
    pub(crate) inode: InodeIndex,
    pub(crate) position: u64,
}

/// Where the bytes of a piece come from.
pub(crate) enum Origin<'a> {
    /// A whole file, which the worker opens.
    Whole,
    /// A part of a large file that is open already.
    Part(Arc<dyn Content + 'a>),
}

/// A file, or a part of a larger one, and what a worker does with it.
pub(crate) struct Piece<'a, T> {
    pub(crate) inode: InodeIndex,
    pub(crate) origin: Origin<'a>,
    pub(crate) range: Range<u64>,
    /// Whether it is the last piece of its file.
    pub(crate) last: bool,
    /// Whether it is within a hole: any number of pieces as one, none of which is the first or the last of its file.
    pub(crate) is_hole: bool,
    pub(crate) task: T,
}

impl<'a, T> Piece<'a, T> {
    /// Where it starts.
    pub(crate) const fn start(&self) -> Position {
        Position { inode: self.inode, position: self.range.start }
    }

    /// Whether the piece is its whole file.
    pub(crate) const fn is_whole(&self) -> bool {
        matches!(self.origin, Origin::Whole)
    }

    /// Bytes of the piece.
    pub(crate) fn len(&self) -> usize {
        let len = usize::try_from(self.range.end - self.range.start);
        len.expect("a piece has at most the bytes of a segment and of an extent")
    }

    /// Runs `work` on the piece's content, and then makes sure that a whole file did not change meanwhile.
    pub(crate) fn with_content<R>(
        &self,
        input: Input<'a>,
        work: impl FnOnce(&dyn Content) -> Result<R, BuildError>,
    ) -> Result<R, BuildError> {
        match &self.origin {
            Origin::Whole => {
                let content = input.open(self.inode)?;
                let result = work(&*content)?;
                content.check_unchanged()?;
                Ok(result)
            }
            Origin::Part(content) => work(&**content),
        }
    }

    /// The piece's bytes, in memory that is used again.
    pub(crate) fn read<'m>(
        &self,
        content: &dyn Content,
        memory: &'m mut Vec<u8>,
    ) -> Result<&'m [u8], BuildError> {
        self.read_from(self.range.start, content, memory)
    }

    /// The same, but the bytes before a position are not read and can be any.
    pub(crate) fn read_from<'m>(
        &self,
        position: u64,
        content: &dyn Content,
        memory: &'m mut Vec<u8>,
    ) -> Result<&'m [u8], BuildError> {
        let len = self.len();
        if memory.len() < len {
            memory.resize(len, 0);
        }
        let bytes = memory.get_mut(..len).expect("it was made that long");
        let unread = usize::try_from(position - self.range.start).expect("in the piece");
        let (_, rest) = bytes.split_at_mut(unread);
        read_around_holes(content, rest, position)?;
        Ok(bytes)
    }
}

/// Reads bytes of a file. To fill holes with zeros costs less than to read them.
pub(crate) fn read_around_holes(
    content: &dyn Content,
    bytes: &mut [u8],
    start: u64,
) -> Result<(), ContentError> {
    let (mut rest, mut position) = (bytes, start);
    while !rest.is_empty() {
        let (is_hole, end) = match content.range_at(position)? {
            DataRange::Hole { end } => (true, end),
            DataRange::Data { end } => (false, end),
        };
        let len = usize::try_from(end.saturating_sub(position)).unwrap_or(usize::MAX);
        // Progress even if an implementation returns a range that ends where it starts.
        let (now, later) = rest.split_at_mut(len.clamp(1, rest.len()));
        if is_hole {
            now.fill(0);
        } else {
            content.read_at(now, position)?;
        }
        position = position.saturating_add(now.len() as u64);
        rest = later;
    }
    Ok(())
}

/// Decides what is done with each file.
pub(crate) trait Cut {
    /// What a worker does with a piece.
    type Task: Copy + Send;

    /// What is done with a file of `size` bytes.
    fn task(&self, inode: InodeIndex, size: u64) -> Self::Task;

    /// The most bytes of a piece, unless it is a hole or cut later.
    fn piece_size(&self, task: Self::Task) -> u64;

    /// Where a piece ends that can be cut at `position`; not before that.
    fn cut_at(&self, _inode: InodeIndex, position: u64) -> u64 {
        position
    }

    /// Whether the pieces of a hole are taken as one.
    fn joins_holes(&self, task: Self::Task) -> bool;
}

/// Pieces that one worker takes together.
pub(crate) struct Batch<'a, T> {
    pub(crate) pieces: Vec<Piece<'a, T>>,
}

impl<T: Send> Job for Batch<'_, T> {
    fn bytes(&self) -> u64 {
        let read = self.pieces.iter().filter(|piece| !piece.is_hole);
        read.map(|piece| piece.range.end - piece.range.start).sum()
    }
}

/// A file of more than one piece that is being cut.
struct Large<'a, T> {
    inode: InodeIndex,
    content: Arc<dyn Content + 'a>,
    size: u64,
    position: u64,
    /// There is no hole before this position.
    data_end: u64,
    task: T,
}

impl<T> Large<'_, T> {
    /// Where the last whole piece of `step` bytes ends that is within the hole at the position; the position itself if there is
    /// none. The first piece and the last of a file are never taken for holes, as some of it depends on their bytes.
    fn hole_end(&mut self, step: u64) -> Result<u64, ContentError> {
        if self.position == 0 || self.position < self.data_end {
            return Ok(self.position);
        }
        match self.content.range_at(self.position)? {
            DataRange::Data { end } => {
                self.data_end = end;
                Ok(self.position)
            }
            DataRange::Hole { end } => {
                let end = end.min(self.size - 1) / step * step;
                Ok(end.max(self.position))
            }
        }
    }
}

/// Cuts the content of regular files, in their order, into batches.
pub(crate) struct Batches<'a, 'o, C: Cut> {
    input: Input<'a>,
    order: &'o [InodeIndex],
    cut: C,
    large: Option<Large<'a, C::Task>>,
}

impl<'a, 'o, C: Cut> Batches<'a, 'o, C> {
    pub(crate) const fn new(input: Input<'a>, order: &'o [InodeIndex], cut: C) -> Self {
        Self { input, order, cut, large: None }
    }

    /// The next batch; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Batch<'a, C::Task>>, BuildError> {
        let mut pieces = match self.next_of_large()? {
            Some(piece) => vec![piece],
            None => self.next_small(),
        };
        if pieces.is_empty() {
            self.large = self.open_large()?;
            pieces.extend(self.next_of_large()?);
        }
        Ok((!pieces.is_empty()).then_some(Batch { pieces }))
    }

    fn next_of_large(&mut self) -> Result<Option<Piece<'a, C::Task>>, BuildError> {
        let Some(large) = self.large.as_mut() else { return Ok(None) };
        let step = self.cut.piece_size(large.task);
        let joins = self.cut.joins_holes(large.task);
        let hole_end = if joins { large.hole_end(step)? } else { large.position };
        let is_hole = hole_end > large.position;
        let cut = |position| self.cut.cut_at(large.inode, position);
        let next = if is_hole { hole_end } else { cut(large.position.saturating_add(step)) };
        let end = large.size.min(next);
        let last = end == large.size;
        let origin = Origin::Part(Arc::clone(&large.content));
        let range = large.position..end;
        let piece = Piece { inode: large.inode, origin, range, last, is_hole, task: large.task };
        large.position = end;
        if last {
            self.large = None;
        }
        Ok(Some(piece))
    }

    /// Files of one piece, up to a full batch or to the next larger file.
    fn next_small(&mut self) -> Vec<Piece<'a, C::Task>> {
        let mut pieces = Vec::new();
        let mut bytes = 0;
        while let Some((inode, others)) = self.order.split_first() {
            let size = self.input.size(*inode);
            let task = self.cut.task(*inode, size);
            let is_full = bytes > 0 && bytes + size > BATCH_BYTES;
            if is_full || pieces.len() == BATCH_PIECES || size > self.cut.piece_size(task) {
                break;
            }
            let origin = Origin::Whole;
            let (last, is_hole) = (true, false);
            pieces.push(Piece { inode: *inode, origin, range: 0..size, last, is_hole, task });
            bytes += size;
            self.order = others;
        }
        pieces
    }

    fn open_large(&mut self) -> Result<Option<Large<'a, C::Task>>, BuildError> {
        let Some((inode, others)) = self.order.split_first() else { return Ok(None) };
        self.order = others;
        let size = self.input.size(*inode);
        let content = Arc::from(self.input.open(*inode)?);
        let task = self.cut.task(*inode, size);
        Ok(Some(Large { inode: *inode, content, size, position: 0, data_end: 0, task }))
    }
}
