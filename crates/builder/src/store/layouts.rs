//! Defines [`Layouts`]: into which extents the segments were cut to which other segments refer.
//!
//! A worker that reaches a repeat asks for the layout of the segment that it repeats, and waits for the worker that
//! compresses it if need be. Pieces are taken in order, so a worker never waits for a piece that nobody has taken; and
//! what is referred to depends on the content alone.

use std::{
    collections::HashMap,
    sync::{Arc, Condvar, Mutex, PoisonError},
};

use lith_format::{
    addr::Blkaddr,
    zmap::{EncodedExtent, HeadKind},
};

use crate::{
    pieces::Position,
    scan::{Repeat, Repeats},
};

/// An extent with a pcluster of its own, to which others may refer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LaidOut {
    /// Where it starts in the file.
    pub(super) position: u64,
    pub(super) extent: EncodedExtent,
    /// Its number among the extents of its segment.
    pub(super) number: u32,
}

/// The pcluster of an extent that is not its segment's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shared {
    /// That of an extent of another segment.
    Segment {
        /// Where the segment starts.
        segment: Position,
        /// The number of the extent there.
        number: u32,
    },
    /// Another device holds it.
    At(Blkaddr),
    /// The image has one that is equal.
    Equal(Blkaddr),
}

/// A layout, which is set when its segment is compressed.
#[derive(Debug, Default)]
struct Slot {
    layout: Mutex<Option<Arc<[LaidOut]>>>,
    ready: Condvar,
}

/// The layouts of all segments in which there are cuts.
#[derive(Debug)]
pub(super) struct Layouts<'r> {
    pub(super) repeats: &'r Repeats,
    slots: HashMap<Position, Slot>,
}

impl<'r> Layouts<'r> {
    /// No segment is compressed yet.
    pub(super) fn new(repeats: &'r Repeats) -> Self {
        Self { repeats, slots: repeats.segments().map(|at| (at, Slot::default())).collect() }
    }

    /// Whether others refer to a segment.
    pub(super) fn has(&self, segment: Position) -> bool {
        self.slots.contains_key(&segment)
    }

    /// Publishes the layout of a segment to the workers that wait for it. Only the first call has an effect.
    pub(super) fn publish(&self, segment: Position, layout: &[LaidOut]) {
        if let Some(slot) = self.slots.get(&segment) {
            let mut known = slot.layout.lock().unwrap_or_else(PoisonError::into_inner);
            known.get_or_insert_with(|| layout.into());
            slot.ready.notify_all();
        }
    }

    /// The extents that hold the bytes of a repeat, from its start on, each with its pcluster; the last may hold more.
    /// Waits until their segment is compressed, unless it is the caller's own, whose layout so far is given.
    pub(super) fn extents_of(
        &self,
        repeat: &Repeat,
        own: (Position, &[LaidOut]),
        block: u32,
    ) -> Vec<(EncodedExtent, Shared)> {
        let segment = self.repeats.segment_of(repeat.of);
        if own.0 == segment {
            return take_extents(repeat, segment, own.1, block);
        }
        let Some(slot) = self.slots.get(&segment) else { return Vec::new() };
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
    segment: Position,
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
        // An index can describe no less, wherever it starts.
        let least = if extent.blocks > 1 { 2 * block } else { block };
        if llen < least || (partial && extent.kind == HeadKind::Plain) {
            break;
        }
        let shared = Shared::Segment { segment, number: *number };
        extents.push((EncodedExtent { llen, partial, ..*extent }, shared));
        done += u64::from(llen);
    }
    extents
}
