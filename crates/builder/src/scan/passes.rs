//! Defines [`Scanner`], which reads files with all workers, and [`Scanned`], what it finds.

use std::{mem, sync::Arc};

use lith_tree::InodeIndex;

use super::{
    analysis::Fragment,
    sketch::Sketch,
    stretches::{Stretch, stretches},
};
use crate::{
    BuildError, Context, Digest, DigestOfPieces, Input, PIECE,
    pieces::{Batch, Batches, Cut, Origin, Piece},
    pipeline::{Room, Worker, in_order},
    plan::Plan,
};

/// What is found out about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Its digest.
    Digest,
    /// Its digest, and the sketch of its first piece.
    Sketch,
    /// The stretches of about `1 << bits` bytes that its content divides into.
    Stretches { bits: u32 },
}

/// What was found out about a file.
#[derive(Debug)]
pub(crate) struct Scanned {
    pub(crate) inode: InodeIndex,
    pub(crate) len: u64,
    pub(crate) digest: Digest,
    pub(crate) sketch: Sketch,
    pub(crate) stretches: Vec<Stretch>,
}

impl Scanned {
    /// The whole file as a fragment.
    pub(crate) const fn whole(&self) -> Fragment {
        let Self { inode, len, digest, .. } = *self;
        Fragment { inode, start: 0, len, digest }
    }
}

/// What was found out about a piece.
#[derive(Default)]
struct Part {
    digests: Vec<Digest>,
    sketch: Sketch,
    stretches: Vec<Stretch>,
}

impl Part {
    fn of(bytes: &[u8], start: u64, task: Task) -> Self {
        match task {
            Task::Stretches { bits } => {
                Self { stretches: stretches(bytes, start, bits), ..Self::default() }
            }
            Task::Digest => Self { digests: Digest::of_pieces(bytes), ..Self::default() },
            Task::Sketch => {
                let sketch = if start == 0 { Sketch::of(bytes) } else { Sketch::default() };
                Self { digests: Digest::of_pieces(bytes), sketch, ..Self::default() }
            }
        }
    }
}

/// Reads files with all workers.
#[derive(Clone, Copy)]
pub(super) struct Scanner<'a> {
    pub(super) input: Input<'a>,
    pub(super) plan: &'a Plan<'a>,
    pub(super) context: &'a Context<'a>,
}

impl Cut for Task {
    type Task = Self;

    fn task(&self, _inode: InodeIndex, _size: u64) -> Self {
        *self
    }

    fn piece_size(&self, _task: Self) -> u64 {
        PIECE
    }

    fn joins_holes(&self, _task: Self) -> bool {
        !matches!(self, Self::Stretches { .. })
    }
}

struct Reader<'a> {
    input: Input<'a>,
    memory: Vec<u8>,
}

impl<'a> Worker for Reader<'a> {
    type Job = Batch<'a, Task>;
    type Done = Vec<(Piece<'a, Task>, Part)>;

    fn work(&mut self, Batch { pieces }: Self::Job) -> Result<Self::Done, BuildError> {
        let mut parts = Vec::with_capacity(pieces.len());
        for piece in pieces {
            if piece.is_hole {
                parts.push((piece, Part::default()));
                continue;
            }
            let part = piece.with_content(self.input, |content| {
                let bytes = piece.read(content, &mut self.memory)?;
                Ok(Part::of(bytes, piece.range.start, piece.task))
            })?;
            parts.push((piece, part));
        }
        Ok(parts)
    }
}

/// Puts the parts of files together.
#[derive(Default)]
struct Collected {
    files: Vec<Scanned>,
    digest: DigestOfPieces,
    sketch: Option<Sketch>,
    stretches: Vec<Stretch>,
}

impl Collected {
    fn add(&mut self, piece: &Piece<'_, Task>, part: Part) -> Result<(), BuildError> {
        if piece.is_hole {
            self.digest.push_zeros((piece.range.end - piece.range.start) / PIECE);
        }
        self.digest.extend(part.digests);
        self.sketch.get_or_insert(part.sketch);
        self.stretches.extend(part.stretches);
        if !piece.last {
            return Ok(());
        }
        self.files.push(Scanned {
            inode: piece.inode,
            len: piece.range.end,
            digest: mem::take(&mut self.digest).finish(),
            sketch: self.sketch.take().unwrap_or_default(),
            stretches: mem::take(&mut self.stretches),
        });
        match &piece.origin {
            Origin::Whole => Ok(()),
            Origin::Part(content) => Ok(Arc::as_ref(content).check_unchanged()?),
        }
    }
}

impl Scanner<'_> {
    /// Scans files, and returns what was found in their order.
    pub(super) fn scan(
        &self,
        task: Task,
        files: &[InodeIndex],
    ) -> Result<Vec<Scanned>, BuildError> {
        let mut collected = Collected::default();
        if files.is_empty() {
            return Ok(collected.files);
        }
        let room = Room::new(self.context, self.plan.compresses(), 0);
        let mut batches = Batches::new(self.input, files, task);
        let reader = || Reader { input: self.input, memory: Vec::new() };
        in_order(
            (room, self.context),
            reader,
            || batches.next(),
            |parts| parts.into_iter().try_for_each(|(piece, part)| collected.add(&piece, part)),
        )?;
        Ok(collected.files)
    }
}
