//! Defines [`Compressor`], which turns pieces into blocks without knowing where these will be stored, so that any
//! number of workers makes the same blocks.

use std::{collections::HashMap, ops::Range};

use lith_format::{
    addr::BlockBits,
    kernel::Capability,
    zmap::{EncodedExtent, HeadKind},
};
use lith_tree::{Content, DataRange, InodeIndex};

use super::{
    around::Around,
    chunks::cut,
    encoders::Encoders,
    layouts::Layouts,
    piece::{Blocks, Done, Form, Outcome, Piece, Rest, Spare, Stored, Task, count},
};
use crate::{
    BuildError, Context, Digest, Input,
    pieces::{Batch, Position, read_around_holes},
    pipeline::Worker,
    plan::{Geometry, Plan},
    scan::{Mark, Part, Parts, Repeats},
    sparse,
};

/// What all workers use.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a, 's> {
    pub(super) geometry: Geometry<'a>,
    pub(super) layouts: &'s Layouts<'s>,
    /// The extents of files that are stored already, here or on other devices.
    pub(super) parts: &'s HashMap<InodeIndex, Parts>,
    pub(super) context: &'s Context<'s>,
    pub(super) spare: &'s Spare,
}

/// A worker, with memory that it uses again and again.
pub(super) struct Compressor<'a, 's> {
    input: Input<'a>,
    plan: &'a Plan<'a>,
    shared: Shared<'a, 's>,
    block: BlockBits,
    encoders: Encoders,
    zeros: Option<Zeros>,
    memory: Vec<u8>,
}

/// What became of a segment of zeros, which the next one becomes too.
struct Zeros {
    /// The number of the coding, and the segment's bytes.
    of: (usize, usize),
    extents: Vec<EncodedExtent>,
    blocks: Vec<u8>,
}

/// Publishes the layout of a segment that failed, so that no worker waits for it forever.
struct Publisher<'s> {
    layouts: &'s Layouts<'s>,
    segment: Position,
}

impl Drop for Publisher<'_> {
    fn drop(&mut self) {
        self.layouts.publish(self.segment, &[]);
    }
}

impl<'a> Worker for Compressor<'a, '_> {
    type Job = Batch<'a, Task>;
    type Done = Done<'a>;

    fn work(&mut self, Batch { pieces }: Self::Job) -> Result<Done<'a>, BuildError> {
        let mut blocks = self.shared.spare.take();
        let stored = pieces.iter().map(|piece| self.store(piece, &mut blocks));
        let outcomes = stored.collect::<Result<Vec<_>, _>>()?;
        Ok(Done { pieces, outcomes, blocks })
    }
}

impl<'a, 's> Compressor<'a, 's> {
    pub(super) fn new(shared: Shared<'a, 's>) -> Self {
        let Geometry { input, plan } = shared.geometry;
        let block = plan.options.layout.block;
        let (encoders, zeros, memory) = (Encoders::default(), None, Vec::new());
        Self { input, plan, shared, block, encoders, zeros, memory }
    }

    /// Appends the piece's blocks and inline tail to `blocks`.
    fn store(&mut self, piece: &Piece<'a>, blocks: &mut Blocks) -> Result<Outcome, BuildError> {
        if piece.is_hole {
            return Ok(Outcome::new(Stored::Hole, Vec::new()));
        }
        let _published = Publisher { layouts: self.shared.layouts, segment: piece.start() };
        let start = blocks.data.len();
        let mut outcome = piece.with_content(self.input, |content| match piece.task.form {
            Form::Compressed { leaves_tail } => {
                self.store_compressed(piece, leaves_tail, content, blocks)
            }
            Form::Raw { granule } => self.store_raw(piece, granule, content, blocks),
            Form::Chunks(chunks) => {
                let bytes = piece.read(content, &mut self.memory)?;
                let digests = Digest::of_pieces(bytes);
                let chunks = cut(bytes, chunks, self.block, &mut blocks.chunks);
                Ok(Outcome::new(Stored::Chunks(chunks), digests))
            }
        })?;
        if self.may_have_equal(piece.inode) {
            let own = blocks.data.get(start..).unwrap_or_default();
            outcome.hash_pclusters(own, self.block, self.plan.coding_number(piece.inode));
        }
        // The memory for one large segment is kept for the next, unless all workers together have too little.
        let kept = self.shared.context.memory / 4 / self.shared.context.workers;
        self.memory.truncate(kept);
        self.memory.shrink_to(kept);
        Ok(outcome)
    }

    /// The repeats that a file has a part in.
    fn repeats(&self, inode: InodeIndex) -> Option<&'s Repeats> {
        let repeats = self.shared.layouts.repeats;
        repeats.has(inode).then_some(repeats)
    }

    /// Where extents of a piece must start, by position; `None` if the encoder alone decides that.
    fn marks(&self, piece: &Piece<'_>) -> Option<Vec<Mark>> {
        let repeats = self.repeats(piece.inode);
        let mut found = repeats.map(|repeats| repeats.marks_in(piece.inode, &piece.range));
        if let Some(parts) = self.shared.parts.get(&piece.inode) {
            found.get_or_insert_default().extend(self.parts_in(parts, &piece.range));
        }
        if let Some(border) = self.border(piece.inode).filter(|at| piece.range.contains(at)) {
            let marks = found.get_or_insert_default();
            marks.push(Mark::Cut(border));
            marks.sort_by_key(Mark::position);
        }
        let cuts = self.input.cuts(piece.inode);
        let first = cuts.partition_point(|at| *at < piece.range.start);
        let cuts = cuts.iter().skip(first).take_while(|at| **at < piece.range.end);
        let mut cuts = cuts.map(|at| Mark::Cut(*at)).peekable();
        if cuts.peek().is_some() {
            let marks = found.get_or_insert_default();
            marks.extend(cuts);
            marks.sort_by_key(Mark::position);
        }
        found
    }

    /// The marks of a file's parts that start in a range. What begins in it and ends after it is cut, if the kernel reads
    /// the beginning of a pcluster.
    fn parts_in(&self, parts: &Parts, range: &Range<u64>) -> Vec<Mark> {
        let cuts = self.plan.options.kernel.supports(&[Capability::PartialReferences]);
        let least = 2 * self.block.size();
        let fitting = |part: &Part| -> Option<Part> {
            if part.end() <= range.end {
                return Some(*part);
            }
            let llen = u32::try_from(range.end - part.position).ok()?;
            let can_be_cut = cuts && part.extent.kind != HeadKind::Plain && llen >= least;
            let extent = EncodedExtent { llen, partial: true, ..part.extent };
            can_be_cut.then_some(Part { extent, ..*part })
        };
        let first = parts.extents.partition_point(|part| part.position < range.start);
        let inside = parts.extents.iter().skip(first);
        let inside = inside.take_while(|part| part.position < range.end);
        inside.filter_map(fitting).map(Mark::Part).collect()
    }

    /// Where the first byte of a piece is that an encoder may need. Before it are nothing but extents of known packed
    /// inodes: to read those would be to decode them once more.
    fn first_needed(&self, piece: &Piece<'_>, marks: Option<&[Mark]>) -> u64 {
        let known = self.input.extra(piece.inode).map_or(0, |extra| extra.known);
        let mut first = piece.range.start;
        for mark in marks.unwrap_or_default() {
            match mark {
                Mark::Part(part) if part.position == first && part.end() <= known => {
                    first = part.end();
                }
                _ => break,
            }
        }
        first
    }

    /// Where a pcluster of an inode must start. Uncompressed bytes before it end with a block.
    fn border(&self, inode: InodeIndex) -> Option<u64> {
        let border = self.input.border(inode)?;
        let granule = match self.plan.hot_coding(inode) {
            Some(None) => u64::from(self.block.size()),
            _ => 1,
        };
        Some(border / granule * granule)
    }

    /// Where the bytes end that are read first of a piece of the packed inode, if they are compressed in their own way.
    fn hot_end(&self, piece: &Piece<'_>) -> Option<u64> {
        let end = self.border(piece.inode).filter(|end| piece.range.start < *end)?;
        let has_parts = self.shared.parts.contains_key(&piece.inode);
        (!has_parts && self.plan.hot_coding(piece.inode).is_some()).then_some(end)
    }

    fn store_compressed(
        &mut self,
        piece: &Piece<'a>,
        leaves_tail: bool,
        content: &dyn Content,
        blocks: &mut Blocks,
    ) -> Result<Outcome, BuildError> {
        let hot_end = self.hot_end(piece);
        let marks = self.marks(piece).or_else(|| hot_end.map(|_| Vec::new()));
        let is_shared = self.repeats(piece.inode).is_some();
        let may_be_zero = marks.is_none() && !piece.last;
        if may_be_zero && is_hole(piece, content)? {
            return self.store_zeros(piece, blocks);
        }
        let is_interlaced = self.is_interlaced(piece.inode);
        let first = self.first_needed(piece, marks.as_deref());
        let input = piece.read_from(first, content, &mut self.memory)?;
        if may_be_zero && sparse::is_zero(input) {
            return self.store_zeros(piece, blocks);
        }
        let is_read = first == piece.range.start;
        let digests = if is_read { Digest::of_pieces(input) } else { Vec::new() };
        let start = blocks.data.len();
        blocks.data.reserve_exact(input.len());
        let mut around = Around::new(piece.start(), self.shared.layouts, piece.last && leaves_tail);
        let mut rest = &[][..];
        let mut tail = Vec::new();
        if let Some(writers) = self.encoders.pair(self.plan, piece.inode, hot_end) {
            let out = &mut blocks.data;
            let written = match marks {
                Some(marks) => around.write_marked(input, &marks, writers, out),
                None => around.write(input, writers.own, out),
            };
            let path = || self.input.path(piece.inode);
            rest = written.map_err(|source| BuildError::Codec { path: path(), source })?;
            if is_interlaced {
                let own = blocks.data.get_mut(start..).unwrap_or_default();
                around.rotate_plain(own, self.block);
            }
            // Others may refer to the last pcluster of a file with repeats.
            let is_own = !is_shared && !around.ends_shared() && !is_interlaced;
            if piece.last
                && rest.is_empty()
                && self.plan.tail_packing
                && is_own
                && let Some(mut writers) = self.encoders.pair(self.plan, piece.inode, hot_end)
            {
                let writer = writers.up_to(piece.range.end);
                tail = writer.cut_tail(&mut blocks.data, &around.extents);
            }
        }
        let written = blocks.data.len() - start;
        let (before, after) = ((input.len() - rest.len()) as u64, (written + tail.len()) as u64);
        let is_gain = around.extents.is_empty() || is_gain(self.plan, piece.inode, before, after);
        // What is hot of it is stored already.
        let has_hot =
            self.plan.hot.has(piece.inode) && self.shared.parts.contains_key(&piece.inode);
        if piece.is_whole() && is_read && !is_gain && !is_shared && !has_hot {
            blocks.data.truncate(start);
            return Ok(uncompressed(self.plan, piece, (input, digests), blocks));
        }
        blocks.tails.extend_from_slice(&tail);
        Ok(Outcome {
            shared: around.shared,
            blocks: count(self.block, written),
            tail: u32::try_from(tail.len()).expect("a tail is less than a block"),
            rest: Rest::of(rest),
            ..Outcome::new(Stored::Pclusters(around.extents), digests)
        })
    }

    /// Whether pclusters of a file may be stored already. Those between others' keep their distance from these.
    fn may_have_equal(&self, inode: InodeIndex) -> bool {
        let has_parts = self.shared.parts.contains_key(&inode);
        self.plan.options.has_fragments() && !has_parts && self.input.extra(inode).is_none()
    }

    fn is_interlaced(&self, inode: InodeIndex) -> bool {
        Geometry { input: self.input, plan: self.plan }.is_interlaced(inode)
    }

    /// Stores a piece of zeros, which is not the last of its file.
    fn store_zeros(
        &mut self,
        piece: &Piece<'_>,
        blocks: &mut Blocks,
    ) -> Result<Outcome, BuildError> {
        let of = (self.plan.coding_number(piece.inode), piece.len());
        let zeros = match self.zeros.take().filter(|zeros| zeros.of == of) {
            Some(zeros) => zeros,
            None => self.compress_zeros(piece, of)?,
        };
        blocks.data.extend_from_slice(&zeros.blocks);
        let digests = Digest::of_zeros(piece.range.end - piece.range.start);
        let stored = Stored::Pclusters(zeros.extents.clone());
        let blocks = count(self.block, zeros.blocks.len());
        self.zeros = Some(zeros);
        Ok(Outcome { blocks, ..Outcome::new(stored, digests) })
    }

    fn compress_zeros(
        &mut self,
        piece: &Piece<'_>,
        of: (usize, usize),
    ) -> Result<Zeros, BuildError> {
        self.memory.clear();
        self.memory.resize(piece.len(), 0);
        let (mut extents, mut blocks) = (Vec::new(), Vec::new());
        if let Some(encoder) = self.encoders.of(self.plan, piece.inode) {
            let written = encoder.write(&self.memory, false, &mut blocks, &mut extents);
            let path = || self.input.path(piece.inode);
            written.map_err(|source| BuildError::Codec { path: path(), source })?;
        }
        Ok(Zeros { of, extents, blocks })
    }

    fn store_raw(
        &self,
        piece: &Piece<'a>,
        granule: Option<u32>,
        content: &dyn Content,
        blocks: &mut Blocks,
    ) -> Result<Outcome, BuildError> {
        let start = blocks.data.len();
        blocks.data.reserve_exact(piece.len().next_multiple_of(self.block.size() as usize));
        blocks.data.resize(start + piece.len(), 0);
        let bytes = blocks.data.get_mut(start..).expect("it was just appended");
        read_around_holes(content, bytes, piece.range.start)?;
        let digests = Digest::of_pieces(bytes);
        // A file with a hole has no inline tail, so a first hole saves nothing there.
        let least = if piece.task.inline_tail > 0 { 2 } else { 1 };
        let holes =
            granule.and_then(|granule| sparse::squeeze(&mut blocks.data, start, granule, least));
        let Some(holes) = holes else {
            return Ok(finish_raw(piece, self.block, digests, start, blocks));
        };
        let written = pad(&mut blocks.data, start, self.block);
        let blocks = count(self.block, written);
        Ok(Outcome { blocks, ..Outcome::new(Stored::Sparse { holes }, digests) })
    }
}

/// Whether `written` bytes of pclusters, with their index, are enough less than `size` uncompressed bytes.
pub(super) fn is_gain(plan: &Plan<'_>, inode: InodeIndex, size: u64, written: u64) -> bool {
    let index = plan.options.layout.block.blocks_for(size) * 2;
    let percent = plan.coding(inode).map_or(0, |coding| u64::from(coding.min_saving.min(100)));
    // Integers without overflow: files are smaller than 2^63 bytes.
    let enough = size - size / 100 * percent;
    written + index < enough
}

/// Whether a piece is within a hole of its source.
fn is_hole(piece: &Piece<'_>, content: &dyn Content) -> Result<bool, BuildError> {
    let range = content.range_at(piece.range.start)?;
    Ok(matches!(range, DataRange::Hole { end } if end >= piece.range.end))
}

/// Stores a whole file as it is, or in chunks.
fn uncompressed(
    plan: &Plan<'_>,
    piece: &Piece<'_>,
    (input, digests): (&[u8], Vec<Digest>),
    blocks: &mut Blocks,
) -> Outcome {
    let block = plan.options.layout.block;
    if let Some(chunks) = plan.chunks(piece.inode) {
        let chunks = cut(input, chunks, block, &mut blocks.chunks);
        return Outcome::new(Stored::Chunks(chunks), digests);
    }
    let start = blocks.data.len();
    blocks.data.extend_from_slice(input);
    finish_raw(piece, block, digests, start, blocks)
}

/// Splits the inline tail off the bytes from `start` on and pads the others to whole blocks.
fn finish_raw(
    piece: &Piece<'_>,
    block: BlockBits,
    digests: Vec<Digest>,
    start: usize,
    blocks: &mut Blocks,
) -> Outcome {
    let tail = if piece.last { piece.task.inline_tail } else { 0 };
    let cut = blocks.data.len() - tail as usize;
    blocks.tails.extend_from_slice(blocks.data.get(cut..).expect("a tail is a part of the piece"));
    blocks.data.truncate(cut);
    let written = pad(&mut blocks.data, start, block);
    Outcome { blocks: count(block, written), tail, ..Outcome::new(Stored::Raw, digests) }
}

/// Fills the last block of the bytes from `start` on with zeros, and returns how many bytes there are then.
fn pad(data: &mut Vec<u8>, start: usize, block: BlockBits) -> usize {
    let written = (data.len() - start).next_multiple_of(block.size() as usize);
    data.resize(start + written, 0);
    written
}
