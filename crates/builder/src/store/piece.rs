//! Defines [`Form`], how a piece is stored, and [`Outcome`], what became of it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use lith_format::{
    addr::{Blkaddr, BlockBits},
    zmap::EncodedExtent,
};
use lith_tree::InodeIndex;

use super::{
    chunks::HashedChunk,
    equal::{OwnPcluster, PclusterDigest},
    layouts::Shared,
};
use crate::{
    Chunks, Digest, PIECE,
    pieces::{Cut, Piece as CutPiece},
    plan::Geometry,
    scan::{Analysis, Sketch},
    sparse::granule_for,
};

/// How a piece is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Compressed, if that saves enough.
    Compressed {
        /// The end of the file may become a fragment.
        leaves_tail: bool,
    },
    /// Uncompressed. Granules of so many bytes that are all zeros become holes.
    Raw { granule: Option<u32> },
    /// Uncompressed, in chunks.
    Chunks(Chunks),
}

/// What a worker does with a piece.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub(super) form: Form,
    /// Bytes at the file's end that are stored beside its inode if the file is stored uncompressed.
    pub(super) inline_tail: u32,
}

pub(super) type Piece<'a> = CutPiece<'a, Task>;

/// Chooses the form of each file.
pub(super) struct Forms<'a> {
    pub(super) geometry: Geometry<'a>,
    pub(super) analysis: &'a Analysis<'a>,
}

impl Cut for Forms<'_> {
    type Task = Task;

    fn task(&self, inode: InodeIndex, size: u64) -> Task {
        let Geometry { plan, .. } = self.geometry;
        let block = plan.options.layout.block;
        let is_large = size > u64::from(block.size());
        let form =
            if plan.coding(inode).is_some() && is_large && !self.analysis.sparse.contains(&inode) {
                Form::Compressed { leaves_tail: plan.longest_fragment(inode) > 0 }
            } else if let Some(chunks) = plan.chunks(inode) {
                Form::Chunks(chunks)
            } else {
                Form::Raw { granule: plan.options.has_holes().then(|| granule_for(size, block)) }
            };
        Task { form, inline_tail: self.geometry.inline_tail(inode, size) }
    }

    /// Whole [`PIECE`]s and granules.
    fn piece_size(&self, task: Task) -> u64 {
        match task.form {
            Form::Compressed { .. } => self.geometry.plan.segment,
            Form::Raw { granule } => PIECE.max(granule.unwrap_or(0).into()),
            Form::Chunks(chunks) => PIECE.max(chunks.granule().into()),
        }
    }

    /// Extents of other packed inodes stay whole: what follows the cut in one would be stored again, and more where these follow
    /// each other block by block at another position in the block. The packed inode needs no digest, which is one of whole
    /// [`PIECE`]s.
    fn cut_at(&self, inode: InodeIndex, position: u64) -> u64 {
        let Analysis { parts, repeats, .. } = self.analysis;
        let known = self.geometry.input.extra(inode).map_or(0, |extra| extra.known);
        // Repeats are within segments.
        let parts = parts.get(&inode).filter(|_| position < known && !repeats.has(inode));
        let end = parts.and_then(|parts| parts.end_around(position));
        end.unwrap_or(position)
    }

    fn joins_holes(&self, task: Task) -> bool {
        matches!(task.form, Form::Raw { granule: Some(_) })
    }
}

/// How a piece is stored, with its bytes in [`Blocks`].
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stored {
    /// In pclusters.
    Pclusters(Vec<EncodedExtent>),
    /// Uncompressed, without an inline tail.
    Raw,
    /// Uncompressed without some granules: true is a hole.
    Sparse { holes: Vec<bool> },
    /// All of it is a hole.
    Hole,
    /// Uncompressed, in chunks.
    Chunks(Vec<HashedChunk>),
}

/// The bytes of a piece's end that no pcluster holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest {
    pub(super) len: u32,
    pub(super) digest: Digest,
    pub(super) sketch: Sketch,
}

impl Rest {
    /// `None` if there are no bytes.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let len = u32::try_from(bytes.len()).expect("a rest has less bytes than a segment");
        let digest = || Digest::of_file(&Digest::of_pieces(bytes));
        (len > 0).then(|| Self { len, digest: digest(), sketch: Sketch::of(bytes) })
    }
}

/// What became of a piece.
pub(super) struct Outcome {
    pub(super) stored: Stored,
    /// The digest of each [`PIECE`] in it.
    pub(super) digests: Vec<Digest>,
    /// Blocks in the image.
    pub(super) blocks: u32,
    /// Bytes of an inline tail.
    pub(super) tail: u32,
    pub(super) rest: Option<Rest>,
    /// The extents that refer to pclusters of others, by their numbers in the piece.
    pub(super) shared: Vec<(u32, Shared)>,
    /// The digest of each pcluster of its own in blocks; none where nobody looks for equal ones.
    pub(super) pclusters: Vec<PclusterDigest>,
}

impl Outcome {
    pub(super) const fn new(stored: Stored, digests: Vec<Digest>) -> Self {
        Self {
            stored,
            digests,
            blocks: 0,
            tail: 0,
            rest: None,
            shared: Vec::new(),
            pclusters: Vec::new(),
        }
    }

    /// Takes the digests of its pclusters in blocks, which an encoder of a coding made.
    pub(super) fn hash_pclusters(&mut self, mut blocks: &[u8], block: BlockBits, coding: usize) {
        let Stored::Pclusters(extents) = &self.stored else { return };
        let one = |(_, extent): (u32, &EncodedExtent)| {
            let len = usize::from(extent.blocks) * block.size() as usize;
            let (own, rest) = blocks.split_at_checked(len)?;
            blocks = rest;
            Some(PclusterDigest::of(own, *extent, coding))
        };
        self.pclusters = own_extents(extents, &self.shared).map_while(one).collect();
    }

    /// Those of its pclusters of which there are digests.
    pub(super) fn own_pclusters(&self) -> Vec<OwnPcluster> {
        let Stored::Pclusters(extents) = &self.stored else { return Vec::new() };
        let own = own_extents(extents, &self.shared).zip(&self.pclusters);
        own.map(|((number, extent), digest)| OwnPcluster {
            number,
            blocks: extent.blocks.into(),
            digest: *digest,
        })
        .collect()
    }

    /// Replaces a pcluster by an equal one.
    pub(super) fn share(&mut self, pcluster: &OwnPcluster, address: Blkaddr) {
        self.shared.push((pcluster.number, Shared::Equal(address)));
        self.blocks -= pcluster.blocks;
    }
}

/// The blocks, inline tails and chunks of a batch's pieces, end to end.
#[derive(Default)]
pub(super) struct Blocks {
    pub(super) data: Vec<u8>,
    pub(super) tails: Vec<u8>,
    /// The chunks that are no holes, in whole blocks.
    pub(super) chunks: Vec<u8>,
}

impl Blocks {
    const fn capacity(&self) -> usize {
        self.data.capacity() + self.tails.capacity() + self.chunks.capacity()
    }
}

/// A batch whose blocks are ready.
pub(super) struct Done<'a> {
    pub(super) pieces: Vec<Piece<'a>>,
    pub(super) outcomes: Vec<Outcome>,
    pub(super) blocks: Blocks,
}

impl Done<'_> {
    /// Bytes of content.
    pub(super) fn bytes(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.range.end - piece.range.start).sum()
    }
}

/// Memory of finished batches, for batches to come.
pub(super) struct Spare {
    kept: Mutex<Vec<Blocks>>,
    /// The most bytes that are kept.
    most: u64,
}

impl Spare {
    pub(super) fn new(most: u64) -> Self {
        Self { kept: Mutex::default(), most }
    }

    /// The memory that was used last, most of which is still in a cache.
    pub(super) fn take(&self) -> Blocks {
        self.lock().pop().unwrap_or_default()
    }

    pub(super) fn keep(&self, mut blocks: Blocks) {
        blocks.data.clear();
        blocks.tails.clear();
        blocks.chunks.clear();
        let mut kept = self.lock();
        let bytes: usize = kept.iter().chain([&blocks]).map(Blocks::capacity).sum();
        if bytes as u64 <= self.most {
            kept.push(blocks);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Blocks>> {
        // No thread that panics leaves a half-made change.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The extents that have pclusters of their own, with their numbers.
fn own_extents<'e>(
    extents: &'e [EncodedExtent],
    shared: &'e [(u32, Shared)],
) -> impl Iterator<Item = (u32, &'e EncodedExtent)> {
    let mut shared = shared.iter().map(|(at, _)| *at).peekable();
    (0..).zip(extents).filter(move |(number, _)| shared.next_if_eq(number).is_none())
}

/// Blocks that hold so many bytes of a piece.
pub(super) fn count(block: BlockBits, bytes: usize) -> u32 {
    u32::try_from(block.blocks_for(bytes as u64)).expect("a piece has at most a segment's blocks")
}
