//! Defines [`Repeats`]: which stretches of files repeat others.

use std::{
    collections::{BTreeSet, HashMap},
    ops::Range,
};

use lith_tree::InodeIndex;

use crate::{pieces::Position, scan::Part};

/// A stretch of a file that has the bytes of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Repeat {
    pub(crate) position: u64,
    pub(crate) len: u64,
    /// Where the other one starts.
    pub(crate) of: Position,
}

impl Repeat {
    /// The repeat without its first bytes.
    pub(super) fn without(self, skip: u64) -> Self {
        let skip = skip.min(self.len);
        let of = Position { position: self.of.position + skip, ..self.of };
        Self { position: self.position + skip, len: self.len - skip, of }
    }
}

/// Where a file's pclusters must start, and which stretches of it are stored elsewhere.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    pub(crate) cuts: BTreeSet<u64>,
    /// In ascending order, without overlaps.
    pub(crate) repeats: Vec<Repeat>,
}

/// Where an extent must start, or shares the pcluster of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// An extent starts here.
    Cut(u64),
    /// This is stored elsewhere in the image.
    Repeat(Repeat),
    /// Another device holds this extent, or it is stored already.
    Part(Part),
}

impl Mark {
    pub(crate) const fn position(&self) -> u64 {
        match self {
            Self::Cut(position) => *position,
            Self::Repeat(repeat) => repeat.position,
            Self::Part(part) => part.position,
        }
    }
}

/// All repeats of some files.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    pub(crate) marks: HashMap<InodeIndex, Marks>,
    /// No repeat crosses a multiple of so many bytes, nor does what it repeats.
    pub(crate) segment: u64,
}

impl Repeats {
    /// The start of the segment that holds a position.
    pub(crate) fn segment_of(&self, position: Position) -> Position {
        let start = position.position - position.position % self.segment.max(1);
        Position { position: start, ..position }
    }

    /// Whether a file has cuts or repeats.
    pub(crate) fn has(&self, inode: InodeIndex) -> bool {
        self.marks.contains_key(&inode)
    }

    /// The segments in which there are cuts.
    pub(crate) fn segments(&self) -> impl Iterator<Item = Position> {
        let cuts = self.marks.iter().flat_map(|(inode, marks)| {
            marks.cuts.iter().map(|cut| Position { inode: *inode, position: *cut })
        });
        cuts.map(|cut| self.segment_of(cut))
    }

    /// The marks in a part of a file, by position.
    pub(crate) fn marks_in(&self, inode: InodeIndex, range: &Range<u64>) -> Vec<Mark> {
        let Some(marks) = self.marks.get(&inode) else { return Vec::new() };
        let cuts = marks.cuts.range(range.clone()).copied().map(Mark::Cut);
        let repeats = marks.repeats.iter().filter(|repeat| range.contains(&repeat.position));
        let mut all: Vec<_> = cuts.chain(repeats.copied().map(Mark::Repeat)).collect();
        all.sort_by_key(Mark::position);
        all
    }
}
