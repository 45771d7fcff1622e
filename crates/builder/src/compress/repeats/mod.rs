//! How is what repeats stored once?
//!
//! Before anything is compressed, all content is cut into chunks ([`chunks`]), and runs of chunks that came before are compared
//! byte by byte ([`find`]). A stretch that has the bytes of another, before it in the order of storing, becomes a
//! [`Repeat`]; and where the other begins, a new pcluster begins: a cut. When a worker comes to a repeat it asks into
//! what extents the other was cut ([`Repeats::layout_of`]), waits for the worker who has it if need be, and refers to their
//! pclusters. Pieces are taken in order, so whoever is waited for never waits for those behind; and what is referred
//! to depends on the content alone.

mod around;
mod chunks;
mod find;

use std::{
    collections::{BTreeSet, HashMap},
    ops::Range,
    sync::{Arc, Condvar, Mutex, OnceLock, PoisonError},
};

use lith_format::zmap::{EncodedExtent, HeadKind};
use lith_tree::{ContentError, InodeIndex};

pub(crate) use around::Laid;
pub(crate) use chunks::{Chunk, chunks};
pub(crate) use find::Limits;

use super::Sources;

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) inode: InodeIndex,
    pub(crate) position: u64,
}

/// A file's chunks.
#[derive(Debug)]
pub(crate) struct Looked {
    pub(crate) inode: InodeIndex,
    pub(crate) chunks: Vec<Chunk>,
}

/// A stretch of a file that has the bytes of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Repeat {
    pub(crate) position: u64,
    pub(crate) len: u64,
    pub(crate) of: Place,
}

impl Repeat {
    /// The repeat without its first bytes.
    fn without(self, skip: u64) -> Self {
        let skip = skip.min(self.len);
        let of = Place { position: self.of.position + skip, ..self.of };
        Self { position: self.position + skip, len: self.len - skip, of }
    }
}

/// Where a file's pclusters have to begin, and what of it is stored elsewhere.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    cuts: BTreeSet<u64>,
    /// In order, without overlaps.
    repeats: Vec<Repeat>,
}

/// What a worker has to heed, in the order of positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// An extent begins here.
    Cut(u64),
    /// This is stored elsewhere.
    Repeat(Repeat),
}

impl Mark {
    pub(crate) const fn position(&self) -> u64 {
        match self {
            Self::Cut(position) => *position,
            Self::Repeat(repeat) => repeat.position,
        }
    }
}

/// An extent in blocks of its own, as others see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaidOut {
    /// Where it begins in the file.
    pub(crate) position: u64,
    pub(crate) extent: EncodedExtent,
    /// How many extents of its segment come before it.
    pub(crate) number: u32,
}

/// The pcluster of an extent of another segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shared {
    /// Where the segment begins.
    pub(crate) segment: Place,
    pub(crate) number: u32,
}

/// A layout that comes when its segment is compressed.
#[derive(Debug, Default)]
struct Slot {
    layout: Mutex<Option<Arc<[LaidOut]>>>,
    ready: Condvar,
}

/// What repeats among the files, and then in the packed inode.
#[derive(Debug, Default)]
pub(crate) struct FoundRepeats {
    pub(crate) files: OnceLock<Repeats>,
    pub(crate) packed: OnceLock<Repeats>,
}

/// All repeats of some files.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    marks: HashMap<InodeIndex, Marks>,
    segment: u64,
    /// Of the segments in which there are cuts.
    layouts: HashMap<Place, Slot>,
}

impl Repeats {
    /// Finds the repeats of files that were looked at, in the order in which they will be stored.
    pub(crate) fn find(
        sources: Sources<'_>,
        looked: &[Looked],
        limits: Limits,
    ) -> Result<Self, ContentError> {
        let mut finder = find::Finder::new(sources, looked, limits);
        finder.go_through_all()?;
        let marks = std::mem::take(&mut finder.marks);
        let mut repeats = Self { marks, segment: limits.segment, layouts: HashMap::new() };
        let cuts = repeats.marks.iter().flat_map(|(inode, marks)| {
            marks.cuts.iter().map(|cut| Place { inode: *inode, position: *cut })
        });
        repeats.layouts = cuts.map(|cut| (repeats.segment_of(cut), Slot::default())).collect();
        Ok(repeats)
    }

    /// Where the segment begins in which a place is.
    fn segment_of(&self, place: Place) -> Place {
        let position = place.position - place.position % self.segment.max(1);
        Place { position, ..place }
    }

    /// Whether anything of a file is stored elsewhere, or referred to.
    pub(crate) fn has(&self, inode: InodeIndex) -> bool {
        self.marks.contains_key(&inode)
    }

    /// Whether others may refer to a segment.
    pub(crate) fn is_referred_to(&self, segment: Place) -> bool {
        self.layouts.contains_key(&segment)
    }

    /// What there is to heed in a part of a file.
    pub(crate) fn marks_in(&self, inode: InodeIndex, range: &Range<u64>) -> Vec<Mark> {
        let Some(marks) = self.marks.get(&inode) else { return Vec::new() };
        let cuts = marks.cuts.range(range.clone()).copied().map(Mark::Cut);
        let repeats = marks.repeats.iter().filter(|repeat| range.contains(&repeat.position));
        let mut all: Vec<_> = cuts.chain(repeats.copied().map(Mark::Repeat)).collect();
        all.sort_by_key(Mark::position);
        all
    }

    /// Tells those who wait for a segment how it is laid out. Only the first time counts.
    pub(crate) fn publish(&self, segment: Place, layout: &[LaidOut]) {
        if let Some(slot) = self.layouts.get(&segment) {
            let mut known = slot.layout.lock().unwrap_or_else(PoisonError::into_inner);
            known.get_or_insert_with(|| layout.into());
            slot.ready.notify_all();
        }
    }

    /// Says that no part of a file is stored in a way that others can refer to.
    pub(crate) fn withdraw(&self, inode: InodeIndex) {
        let segments = self.layouts.keys().filter(|segment| segment.inode == inode);
        segments.for_each(|segment| self.publish(*segment, &[]));
    }

    /// The extents that hold what is repeated, each with its pcluster, as many as there are for the repeat's bytes; the last may
    /// hold more. Waits until the segment is compressed, unless its layout so far is given.
    pub(crate) fn extents_of(
        &self,
        repeat: &Repeat,
        own: (Place, &[LaidOut]),
        block: u32,
    ) -> Vec<(EncodedExtent, Shared)> {
        let segment = self.segment_of(repeat.of);
        if own.0 == segment {
            return take_extents(repeat, segment, own.1, block);
        }
        let Some(slot) = self.layouts.get(&segment) else { return Vec::new() };
        let mut layout = slot.layout.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(layout) = &*layout {
                return take_extents(repeat, segment, layout, block);
            }
            layout = slot.ready.wait(layout).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn take_extents(
    repeat: &Repeat,
    segment: Place,
    layout: &[LaidOut],
    block: u32,
) -> Vec<(EncodedExtent, Shared)> {
    let first = layout.partition_point(|known| known.position < repeat.of.position);
    let mut extents = Vec::new();
    let mut done = 0;
    for LaidOut { position, extent, number } in layout.iter().skip(first) {
        let left = repeat.len - done;
        if *position != repeat.of.position + done || left == 0 {
            break;
        }
        let llen = u32::try_from(left).unwrap_or(u32::MAX).min(extent.llen);
        let partial = llen < extent.llen;
        // An index has no place for less, wherever it begins.
        let least = if extent.blocks > 1 { 2 * block } else { block };
        if llen < least || (partial && extent.kind == HeadKind::Plain) {
            break;
        }
        let shared = Shared { segment, number: *number };
        extents.push((EncodedExtent { llen, partial, ..*extent }, shared));
        done += u64::from(llen);
    }
    extents
}
