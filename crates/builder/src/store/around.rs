//! Defines [`Around`], which compresses a piece around what is stored elsewhere.

use std::ops::Range;

use lith_codec::CodecError;
use lith_format::{
    addr::BlockBits,
    zmap::{EncodedExtent, HeadKind},
};

use super::{
    encoders::Pair,
    layouts::{LaidOut, Layouts, Shared},
    pclusters::PclusterWriter,
};
use crate::{pieces::Position, scan::Mark};

/// A piece's extents, as far as they are written.
pub(super) struct Around<'l> {
    start: Position,
    layouts: &'l Layouts<'l>,
    /// Whether the encoder may leave bytes at the end, which become a fragment.
    leaves_tail: bool,
    pub(super) extents: Vec<EncodedExtent>,
    /// The extents that refer to pclusters of others, by their numbers.
    pub(super) shared: Vec<(u32, Shared)>,
    /// The extents that have pclusters of their own.
    own: Vec<LaidOut>,
}

impl<'l> Around<'l> {
    /// A piece without extents.
    pub(super) fn new(start: Position, layouts: &'l Layouts<'l>, leaves_tail: bool) -> Self {
        let (extents, shared, own) = (Vec::new(), Vec::new(), Vec::new());
        Self { start, layouts, leaves_tail, extents, shared, own }
    }

    /// Writes the piece's pclusters to `out`, and returns what is left for a fragment.
    pub(super) fn write<'i>(
        &mut self,
        input: &'i [u8],
        writer: &mut PclusterWriter,
        out: &mut Vec<u8>,
    ) -> Result<&'i [u8], CodecError> {
        writer.write(input, self.leaves_tail, out, &mut self.extents)
    }

    /// The same, with extents that start at the marks or refer to the pclusters that these repeat.
    pub(super) fn write_marked<'i>(
        &mut self,
        input: &'i [u8],
        marks: &[Mark],
        mut writers: Pair<'_>,
        out: &mut Vec<u8>,
    ) -> Result<&'i [u8], CodecError> {
        let start = self.start.position;
        let end = start + input.len() as u64;
        let bytes = |range: Range<u64>| {
            let at = |position: u64| usize::try_from(position - start).expect("in the piece");
            input.get(at(range.start)..at(range.end)).expect("marks are in the piece")
        };
        let (mut done, mut retry_from) = (start, start);
        for mark in marks {
            let elsewhere = match mark {
                Mark::Cut(_) => Vec::new(),
                Mark::Repeat(repeat) => {
                    self.layouts.extents_of(repeat, (self.start, &self.own), writers.block_size())
                }
                Mark::Part(part) => vec![(part.extent, Shared::At(part.address))],
            };
            let is_void = matches!(mark, Mark::Repeat(_)) && elsewhere.is_empty();
            if is_void || mark.position() < done.max(retry_from) {
                continue;
            }
            let first = self.extents.len();
            let before = bytes(done..mark.position());
            let writer = writers.up_to(mark.position());
            if !writer.write_exactly(before, done, out, &mut self.extents)? {
                // No index could describe it; then there is no cut.
                if let Mark::Part(part) = mark {
                    // In incompressible bytes each further one would fail alike, after more of them are tried.
                    retry_from = part.position + (part.position - done) / 2;
                }
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
        let writer = writers.up_to(end);
        let rest = writer.write(bytes(done..end), self.leaves_tail, out, &mut self.extents)?;
        self.note_own(first, done);
        self.layouts.publish(self.start, &self.own);
        Ok(rest)
    }

    /// Whether the last extent has a pcluster of another.
    pub(super) fn ends_shared(&self) -> bool {
        let last = self.shared.last().map(|(at, _)| *at as usize + 1);
        last == Some(self.extents.len())
    }

    /// Rotates the uncompressed blocks among the piece's own ones by their positions in the file, as an interlaced inode has
    /// them.
    pub(super) fn rotate_plain(&self, mut blocks: &mut [u8], block: BlockBits) {
        let mut position = self.start.position;
        let mut shared = self.shared.iter().map(|(at, _)| *at).peekable();
        for (at, extent) in (0..).zip(&self.extents) {
            if shared.next_if_eq(&at).is_none() {
                let bytes = usize::from(extent.blocks) * block.size() as usize;
                let (own, later) = blocks.split_at_mut(bytes.min(blocks.len()));
                blocks = later;
                if extent.kind == HeadKind::Plain && !own.is_empty() {
                    let by = usize::try_from(block.within(position)).expect("within a block");
                    own.rotate_right(by);
                }
            }
            position += u64::from(extent.llen);
        }
    }

    /// Notes the extents from the given one on, which starts at `position` in the file.
    fn note_own(&mut self, first: usize, mut position: u64) {
        for (at, extent) in self.extents.iter().enumerate().skip(first) {
            self.own.push(LaidOut { position, extent: *extent, number: number(at) });
            position += u64::from(extent.llen);
        }
    }
}

fn number(extents: usize) -> u32 {
    u32::try_from(extents).expect("each extent has at least a byte of a segment")
}
