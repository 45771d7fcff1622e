//! How do the bytes of files become blocks?
//!
//! The content of all files is cut into [`Piece`]s, in the order of the plan, and pieces into batches. A
//! [`Worker`] turns one batch into blocks without knowing where in the image they will lie; so any
//! number of workers gives the same blocks.

mod duplicates;
mod likeness;
mod packed;
mod pclusters;
mod repeats;
mod sketch;
mod sparse;
mod writers;

use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

use lith_format::{addr::BlockBits, zmap::EncodedExtent};
use lith_tree::{Content, ContentError, Contents, Inode, InodeIndex, Tree};

pub(crate) use duplicates::{candidates, originals};
pub(crate) use packed::{Fragment, Packed};
pub(crate) use repeats::{Chunk, FoundRepeats, Limits, Looked, Place, Repeats, Shared};
pub(crate) use sketch::Sketch;
pub(crate) use sparse::{granule_for, is_mostly_hole, is_zero};

use self::{packed::PackedContent, repeats::Laid, writers::Writers};
use crate::{
    BuildError, Chunks, Context, Options,
    chunks::{HashedChunk, cut},
    codings::{Coding, Codings},
    digest::Digest,
    metabox::{Metabox, MetaboxContent},
};

/// Where a piece's bytes come from.
pub(crate) enum Origin<'a> {
    /// A whole file, opened by the worker.
    Whole,
    /// A part of a large file that is open already.
    Part(Arc<dyn Content + 'a>),
}

/// How a piece is to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Compressed, if that gains anything; its last bytes may become a fragment.
    Compressed,
    /// Not yet.
    Later(Look),
    /// As it is. Stretches of zeros are left out if a granule, in bytes, is given: what begins and ends at
    /// multiples of it.
    Raw { granule: Option<u32> },
    /// As it is, in chunks.
    Chunks(Chunks),
}

/// What is found out of content that is not stored yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Only its digest.
    Digest,
    /// What it is like, too.
    Sketch,
    /// Into what chunks of about `1 << bits` bytes it falls.
    Chunks { bits: u32 },
}

/// The most bytes of a file that are compressed as one. Where one segment ends and the next begins no pcluster goes
/// on, so few and large ones make smaller images.
pub(crate) const SEGMENT: u64 = 16 << 20;

/// A file, or a stretch of a larger one: a segment if compressed, else a [`crate::PIECE`] or a granule, whatever is larger.
pub(crate) struct Piece<'a> {
    pub(crate) inode: InodeIndex,
    pub(crate) origin: Origin<'a>,
    pub(crate) range: Range<u64>,
    pub(crate) form: Form,
    /// Bytes at the file's end that go into the inode's block instead of a block of their own.
    pub(crate) inline_tail: u32,
    /// The last piece of its file.
    pub(crate) last: bool,
    /// What is left of it at the end may become a fragment.
    pub(crate) may_leave_rest: bool,
}

impl Piece<'_> {
    /// Where it begins.
    pub(crate) const fn place(&self) -> Place {
        Place { inode: self.inode, position: self.range.start }
    }

    /// Whether the piece is its whole file.
    pub(crate) const fn is_whole(&self) -> bool {
        matches!(self.origin, Origin::Whole)
    }

    fn len(&self) -> usize {
        // A piece has at most SEGMENT bytes.
        usize::try_from(self.range.end - self.range.start).unwrap_or(usize::MAX)
    }
}

/// How a piece turned out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    /// As pclusters.
    Pclusters(Vec<EncodedExtent>),
    /// As it is; the tail may be missing, to be inlined.
    Raw,
    /// As it is, but for some granules of zeros: true is a hole.
    Sparse { holes: Vec<bool> },
    /// As it is, in chunks.
    Chunks(Vec<HashedChunk>),
    /// Not yet.
    Later,
}

/// What is known of bytes that are not stored yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rest {
    pub(crate) len: u32,
    pub(crate) digest: Digest,
    pub(crate) sketch: Sketch,
}

impl Rest {
    fn of(bytes: &[u8], digest: Digest, sketch: Sketch) -> Self {
        // A piece at most.
        let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        Self { len, digest, sketch }
    }
}

/// What became of a piece; its blocks are in [`Blocks`].
pub(crate) struct Outcome {
    pub(crate) stored: Stored,
    /// Of each [`crate::PIECE`] in it.
    pub(crate) digests: Vec<Digest>,
    /// Blocks in the image.
    pub(crate) blocks: u32,
    /// Bytes of an inline tail.
    pub(crate) tail: u32,
    /// What no pcluster holds, at the piece's end.
    pub(crate) rest: Option<Rest>,
    /// The extents whose pclusters are others', by their numbers in the piece.
    pub(crate) shared: Vec<(u32, Shared)>,
    /// What it falls into, if it was looked at for that.
    pub(crate) chunks: Vec<Chunk>,
}

impl Outcome {
    fn new(stored: Stored, digests: Vec<Digest>) -> Self {
        Self {
            stored,
            digests,
            blocks: 0,
            tail: 0,
            rest: None,
            shared: Vec::new(),
            chunks: Vec::new(),
        }
    }
}

/// The blocks, inline tails and chunks of a batch's pieces, end to end.
#[derive(Default)]
pub(crate) struct Blocks {
    pub(crate) data: Vec<u8>,
    pub(crate) tails: Vec<u8>,
    /// Those that are no holes, in whole blocks.
    pub(crate) chunks: Vec<u8>,
}

impl Blocks {
    /// Empties all, to be filled anew.
    pub(crate) fn clear(&mut self) {
        self.data.clear();
        self.tails.clear();
        self.chunks.clear();
    }

    /// The memory that it has, used or not.
    pub(crate) const fn capacity(&self) -> usize {
        self.data.capacity() + self.tails.capacity() + self.chunks.capacity()
    }
}

/// An inode that no directory names.
pub(crate) enum Nameless<'a> {
    Packed(&'a Packed),
    Metabox(&'a Metabox),
}

/// What is the same for all pieces.
#[derive(Clone, Copy)]
pub(crate) struct Sources<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) contents: &'a dyn Contents,
    pub(crate) options: &'a Options,
    pub(crate) context: &'a Context<'a>,
    pub(crate) codings: &'a Codings,
    /// The packed inode, once it is known what belongs there.
    pub(crate) packed: &'a OnceLock<Packed>,
    /// The metabox inode, once all other inodes are written.
    pub(crate) metabox: &'a OnceLock<Metabox>,
    /// What repeats, once it is known.
    pub(crate) repeats: &'a FoundRepeats,
}

impl<'a> Sources<'a> {
    /// An inode of the tree, or one without a name.
    pub(crate) fn node(self, index: InodeIndex) -> &'a Inode {
        match self.nameless(index) {
            Some(Nameless::Packed(packed)) => &packed.node,
            Some(Nameless::Metabox(metabox)) => &metabox.node,
            None => self.tree.get(index),
        }
    }

    /// Opens a regular file of the tree, or an inode without a name.
    pub(crate) fn open(self, index: InodeIndex) -> Result<Box<dyn Content + 'a>, ContentError> {
        match self.nameless(index) {
            Some(Nameless::Packed(packed)) => Ok(Box::new(PackedContent { sources: self, packed })),
            Some(Nameless::Metabox(metabox)) => Ok(Box::new(MetaboxContent(metabox))),
            None => self.contents.open(self.tree, index),
        }
    }

    /// How a file is compressed; nothing if it is stored plain.
    pub(crate) fn coding(self, index: InodeIndex) -> Option<&'a Coding> {
        self.codings.of(index)
    }

    /// The most bytes of a file's end that become a fragment: none of an inode without a name, nor of what is stored in
    /// another way than the packed inode.
    pub(crate) fn longest_fragment(self, index: InodeIndex) -> u64 {
        let is_like_packed = self.nameless(index).is_none() && self.codings.number(index) == 0;
        if is_like_packed { self.options.longest_fragment() } else { 0 }
    }

    /// Into what chunks a file falls that is stored as it is; nothing if it lies in a row, as inodes without names do.
    pub(crate) fn chunks(self, index: InodeIndex) -> Option<Chunks> {
        self.options.layout.chunks.filter(|_| self.nameless(index).is_none())
    }

    /// Where an inode is in the tree; nowhere for one without a name.
    pub(crate) fn path(self, index: InodeIndex) -> Vec<u8> {
        match self.nameless(index) {
            Some(_) => Vec::new(),
            None => self.tree.path(index),
        }
    }

    /// The repeats that a file has a part in.
    pub(crate) fn repeats(self, index: InodeIndex) -> Option<&'a Repeats> {
        let is_packed = self.packed.get().is_some_and(|packed| packed.index == index);
        let found = if is_packed { &self.repeats.packed } else { &self.repeats.files };
        found.get().filter(|repeats| repeats.has(index))
    }

    /// The inode of that number, if it is none of the tree.
    pub(crate) fn nameless(self, index: InodeIndex) -> Option<Nameless<'a>> {
        let packed = self.packed.get().filter(|packed| packed.index == index);
        let metabox = self.metabox.get().filter(|metabox| metabox.index == index);
        packed.map(Nameless::Packed).or(metabox.map(Nameless::Metabox))
    }
}

/// Ends the waiting for a piece's layout, whatever becomes of it.
struct Publisher<'r> {
    repeats: Option<&'r Repeats>,
    segment: Place,
}

impl Drop for Publisher<'_> {
    fn drop(&mut self) {
        if let Some(repeats) = self.repeats {
            repeats.publish(self.segment, &[]);
        }
    }
}

/// Turns pieces into blocks, with memory that it uses again and again.
pub(crate) struct Worker<'a> {
    sources: Sources<'a>,
    block: BlockBits,
    writers: Writers,
    input: Vec<u8>,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(sources: Sources<'a>) -> Self {
        let block = sources.options.layout.block;
        Self { sources, block, writers: Writers::default(), input: Vec::new() }
    }

    /// Appends the piece's blocks and inline tail to `blocks`.
    pub(crate) fn store(
        &mut self,
        piece: &Piece<'a>,
        blocks: &mut Blocks,
    ) -> Result<Outcome, BuildError> {
        let repeats = self.sources.repeats(piece.inode);
        let _published = Publisher { repeats, segment: piece.place() };
        let opened;
        let content: &dyn Content = match &piece.origin {
            Origin::Whole => {
                opened = self.sources.open(piece.inode)?;
                &*opened
            }
            Origin::Part(content) => &**content,
        };
        let outcome = match piece.form {
            Form::Compressed => self.store_compressed(piece, content, blocks)?,
            Form::Raw { granule } => self.store_raw(piece, granule, content, blocks)?,
            Form::Chunks(chunks) => {
                let input = read(&mut self.input, piece, content)?;
                let digests = Digest::of_pieces(input);
                let chunks = cut(input, chunks, self.block, &mut blocks.chunks);
                Outcome::new(Stored::Chunks(chunks), digests)
            }
            Form::Later(look) => self.look_at(piece, look, content)?,
        };
        if piece.is_whole() {
            content.check_unchanged()?;
        }
        // What one large segment needed is kept for the next, unless all workers together have too little.
        let kept = self.sources.context.memory / 4 / self.sources.context.workers;
        self.input.truncate(kept);
        self.input.shrink_to(kept);
        Ok(outcome)
    }

    fn store_compressed(
        &mut self,
        piece: &Piece<'a>,
        content: &dyn Content,
        blocks: &mut Blocks,
    ) -> Result<Outcome, BuildError> {
        let len = piece.len();
        let input = read(&mut self.input, piece, content)?;
        let digests = Digest::of_pieces(input);
        let start = blocks.data.len();
        blocks.data.reserve_exact(len);
        let (mut extents, mut shared) = (Vec::new(), Vec::new());
        let mut rest = &[][..];
        let repeats = self.sources.repeats(piece.inode);
        let mut tail = Vec::new();
        if let Some(pclusters) = self.writers.of(self.sources, piece.inode) {
            let out = &mut blocks.data;
            let written = match repeats {
                Some(repeats) => {
                    let mut laid = Laid::default();
                    let writer = (&mut *pclusters, self.block.size());
                    let written = laid.write((piece, input), repeats, writer, out);
                    repeats.publish(piece.place(), &laid.own);
                    (extents, shared) = (laid.extents, laid.shared);
                    written
                }
                None => pclusters.write(input, piece.may_leave_rest, out, &mut extents),
            };
            let path = || self.sources.path(piece.inode);
            rest = written.map_err(|source| BuildError::Codec { path: path(), source })?;
            // Others may refer to the last pcluster.
            let may_cut = self.sources.options.compression.tail_packing && repeats.is_none();
            if piece.last && rest.is_empty() && may_cut {
                tail = pclusters.cut_tail(&mut blocks.data, &extents);
            }
        }
        let written = blocks.data.len() - start;
        let (before, after) = ((len - rest.len()) as u64, (written + tail.len()) as u64);
        let is_gain = extents.is_empty() || is_gain(self.sources, piece.inode, before, after);
        if piece.is_whole() && !is_gain && repeats.is_none() {
            blocks.data.truncate(start);
            if let Some(chunks) = self.sources.chunks(piece.inode) {
                let chunks = cut(input, chunks, self.block, &mut blocks.chunks);
                return Ok(Outcome::new(Stored::Chunks(chunks), digests));
            }
            blocks.data.extend_from_slice(input);
            return Ok(finish_raw(piece, self.block, digests, start, blocks));
        }
        blocks.tails.extend_from_slice(&tail);
        Ok(Outcome {
            shared,
            blocks: count(self.block, written),
            // Less than a block.
            tail: u32::try_from(tail.len()).unwrap_or(u32::MAX),
            rest: (!rest.is_empty()).then(|| {
                Rest::of(rest, Digest::of_file(&Digest::of_pieces(rest)), Sketch::of(rest))
            }),
            ..Outcome::new(Stored::Pclusters(extents), digests)
        })
    }

    /// Reads a piece that is stored later.
    fn look_at(
        &mut self,
        piece: &Piece<'a>,
        look: Look,
        content: &dyn Content,
    ) -> Result<Outcome, BuildError> {
        let input = read(&mut self.input, piece, content)?;
        let sketch = match look {
            Look::Digest => Sketch::default(),
            Look::Sketch => Sketch::of(input),
            Look::Chunks { bits } => {
                let chunks = repeats::chunks(input, piece.range.start, bits);
                return Ok(Outcome { chunks, ..Outcome::new(Stored::Later, Vec::new()) });
            }
        };
        let digests = Digest::of_pieces(input);
        let rest = Some(Rest::of(input, Digest::of_file(&digests), sketch));
        Ok(Outcome { rest, ..Outcome::new(Stored::Later, digests) })
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
        let bytes = blocks.data.get_mut(start..).unwrap_or_default();
        content.read_at(bytes, piece.range.start)?;
        let digests = Digest::of_pieces(bytes);
        // With a hole the tail can't be inlined any more, so a first one gains nothing there.
        let least = if piece.inline_tail > 0 { 2 } else { 1 };
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

/// The piece's bytes, in memory that is used again.
fn read<'i>(
    memory: &'i mut Vec<u8>,
    piece: &Piece<'_>,
    content: &dyn Content,
) -> Result<&'i [u8], BuildError> {
    let len = piece.len();
    if memory.len() < len {
        memory.resize(len, 0);
    }
    let input = memory.get_mut(..len).unwrap_or_default();
    content.read_at(input, piece.range.start)?;
    Ok(input)
}

/// Whether `written` bytes of blocks, with their index, are enough less than `size` bytes stored plain.
pub(crate) fn is_gain(sources: Sources<'_>, inode: InodeIndex, size: u64, written: u64) -> bool {
    let index = sources.options.layout.block.blocks_for(size) * 2;
    let percent = sources.coding(inode).map_or(0, |c| u64::from(c.min_saving.min(100)));
    // In whole numbers without overflow: files are smaller than 2^63.
    let enough = size - size / 100 * percent;
    written + index < enough
}

/// Splits the inline tail off the bytes from `start` on and pads the others to whole blocks.
fn finish_raw(
    piece: &Piece<'_>,
    block: BlockBits,
    digests: Vec<Digest>,
    start: usize,
    blocks: &mut Blocks,
) -> Outcome {
    let tail = if piece.last { piece.inline_tail } else { 0 };
    let cut = blocks.data.len() - tail as usize;
    blocks.tails.extend_from_slice(blocks.data.get(cut..).unwrap_or_default());
    blocks.data.truncate(cut);
    let written = pad(&mut blocks.data, start, block);
    Outcome { blocks: count(block, written), tail, ..Outcome::new(Stored::Raw, digests) }
}

/// Fills the last block of the bytes from `start` on with zeros and says how many bytes there are now.
fn pad(data: &mut Vec<u8>, start: usize, block: BlockBits) -> usize {
    let written = (data.len() - start).next_multiple_of(block.size() as usize);
    data.resize(start + written, 0);
    written
}

fn count(block: BlockBits, bytes: usize) -> u32 {
    // The blocks of a piece.
    u32::try_from(block.blocks_for(bytes as u64)).unwrap_or(u32::MAX)
}
