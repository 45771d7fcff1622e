//! How is a piece compressed around what is stored elsewhere?

use std::ops::Range;

use lith_codec::CodecError;
use lith_format::zmap::EncodedExtent;

use super::{LaidOut, Mark, Repeats, Shared};
use crate::compress::{Piece, pclusters::PclusterWriter};

/// A piece's extents.
#[derive(Debug, Default)]
pub(crate) struct Laid {
    pub(crate) extents: Vec<EncodedExtent>,
    /// Those whose pclusters are others', by their numbers.
    pub(crate) shared: Vec<(u32, Shared)>,
    /// Those that have pclusters of their own.
    pub(crate) own: Vec<LaidOut>,
}

impl Laid {
    /// Writes a piece's own pclusters, and returns what is left for a fragment.
    pub(crate) fn write<'i>(
        &mut self,
        (piece, input): (&Piece<'_>, &'i [u8]),
        repeats: &Repeats,
        (writer, block): (&mut PclusterWriter, u32),
        out: &mut Vec<u8>,
    ) -> Result<&'i [u8], CodecError> {
        let start = piece.range.start;
        let bytes = |range: Range<u64>| {
            let at = |position: u64| usize::try_from(position - start).unwrap_or(usize::MAX);
            input.get(at(range.start)..at(range.end)).unwrap_or_default()
        };
        let mut done = start;
        for mark in repeats.marks_in(piece.inode, &piece.range) {
            let elsewhere = match &mark {
                Mark::Cut(_) => Vec::new(),
                Mark::Repeat(repeat) => {
                    repeats.extents_of(repeat, (piece.place(), &self.own), block)
                }
            };
            let is_void = matches!(mark, Mark::Repeat(_)) && elsewhere.is_empty();
            if is_void || mark.position() < done {
                continue;
            }
            let first = self.extents.len();
            let before = bytes(done..mark.position());
            if !writer.write_exactly(before, done, out, &mut self.extents)? {
                // No index could say so; then there is no cut.
                continue;
            }
            self.note_own(first, done);
            done = mark.position();
            for (extent, shared) in elsewhere {
                self.shared.push((number(self.extents.len()), shared));
                self.extents.push(extent);
                done += u64::from(extent.llen);
            }
        }
        let first = self.extents.len();
        let left = bytes(done..piece.range.end);
        let rest = writer.write(left, piece.may_leave_rest, out, &mut self.extents)?;
        self.note_own(first, done);
        Ok(rest)
    }

    /// Remembers the extents from the given one on, which begins at `position` in the file.
    fn note_own(&mut self, first: usize, mut position: u64) {
        for (at, extent) in self.extents.iter().enumerate().skip(first) {
            self.own.push(LaidOut { position, extent: *extent, number: number(at) });
            position += u64::from(extent.llen);
        }
    }
}

fn number(extents: usize) -> u32 {
    // Each has a byte of a segment at least.
    u32::try_from(extents).unwrap_or(u32::MAX)
}
