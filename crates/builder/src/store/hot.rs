//! Stores what is hot of compressed files, before everything else: for the files, these extents are stored already then.

use std::{collections::HashSet, ops::Range, sync::Arc};

use lith_format::{addr::Blkaddr, zmap::EncodedExtent};
use lith_tree::{Content, InodeIndex};

use super::{
    allocator::Allocator,
    encoders::Encoders,
    piece::{Form, Forms},
    stored::{Destination, StoredFiles},
    worker::is_gain,
};
use crate::{
    BuildError,
    pieces::{Cut, read_around_holes},
    pipeline::{Job, Room, Worker, in_order},
    plan::{Geometry, HotRange},
    scan::{Analysis, Part, Parts},
};

/// Stores the hot ranges of files that are compressed, in their order, and adds them to the parts that `analysis` has of
/// files. Files of other kinds, and those of which other devices hold some, have no hot ranges.
///
/// # Errors
/// As [`super::store`].
pub(crate) fn store_hot<'a>(
    geometry: Geometry<'a>,
    mut analysis: Analysis<'a>,
    Destination { image, context }: Destination<'a>,
    stored: StoredFiles,
) -> Result<(Analysis<'a>, StoredFiles), BuildError> {
    let Geometry { input, plan } = geometry;
    // Addresses of parts mean what is copied then.
    if plan.hot.ranges.is_empty() || input.known.copied.is_some() {
        return Ok((analysis, stored));
    }
    let ranges = cut(geometry, &analysis);
    let mut ranges = ranges.iter();
    let mut allocator = Allocator::new(image, plan, stored.next);
    let mut next = || {
        let open = |piece: &HotPiece| {
            Ok(HotJob { piece: piece.clone(), content: Arc::from(input.open(piece.inode)?) })
        };
        ranges.next().map(open).transpose()
    };
    let worker = || HotWorker { geometry, encoders: Encoders::default() };
    let room = Room::new(context, true, plan.options.encoder_memory());
    in_order((room, context), worker, &mut next, |done: HotDone| {
        let HotDone { piece, extents, blocks } = done;
        allocator.align((blocks.len() / plan.options.layout.block.size() as usize) as u64);
        let mut address = Blkaddr(allocator.next());
        allocator.append(&blocks)?;
        let mut position = piece.range.start;
        for extent in extents {
            let parts = analysis.parts.entry(piece.inode).or_default();
            parts.extents.push(Part { position, extent, address });
            position += u64::from(extent.llen);
            address.0 += u64::from(extent.blocks);
        }
        Ok(())
    })?;
    let by_position = |parts: &mut Parts| parts.extents.sort_by_key(|part| part.position);
    analysis.parts.values_mut().for_each(by_position);
    let (start, next) = (stored.next, allocator.next());
    Ok((analysis, StoredFiles { next, hot: Some(start..next), ..stored }))
}

/// A part of a file that is compressed as one.
#[derive(Clone)]
struct HotPiece {
    inode: InodeIndex,
    range: Range<u64>,
    /// What would not fill the last pcluster becomes a fragment.
    leaves_rest: bool,
}

/// The hot ranges of files that are compressed, within segments.
fn cut(geometry: Geometry<'_>, analysis: &Analysis<'_>) -> Vec<HotPiece> {
    let Geometry { input, plan } = geometry;
    let in_blocks: HashSet<_> = analysis.in_blocks().into_iter().collect();
    let forms = Forms { geometry, analysis };
    let mut pieces = Vec::new();
    for HotRange { inode, range } in &plan.hot.ranges {
        let size = input.size(*inode);
        let is_own = in_blocks.contains(inode) && !analysis.parts.contains_key(inode);
        let Form::Compressed { leaves_tail } = forms.task(*inode, size).form else { continue };
        let mut start = range.start;
        while is_own && start < range.end {
            let end = (start / plan.segment + 1).saturating_mul(plan.segment).min(range.end);
            let leaves_rest = leaves_tail && end == size;
            pieces.push(HotPiece { inode: *inode, range: start..end, leaves_rest });
            start = end;
        }
    }
    pieces
}

struct HotJob<'a> {
    piece: HotPiece,
    content: Arc<dyn Content + 'a>,
}

impl Job for HotJob<'_> {
    fn bytes(&self) -> u64 {
        self.piece.range.end - self.piece.range.start
    }
}

struct HotDone {
    piece: HotPiece,
    extents: Vec<EncodedExtent>,
    blocks: Vec<u8>,
}

/// Compresses hot ranges.
struct HotWorker<'a> {
    geometry: Geometry<'a>,
    encoders: Encoders,
}

impl<'a> Worker for HotWorker<'a> {
    type Job = HotJob<'a>;
    type Done = HotDone;

    fn work(&mut self, HotJob { piece, content }: HotJob<'a>) -> Result<HotDone, BuildError> {
        let Geometry { input, plan } = self.geometry;
        let HotPiece { inode, ref range, leaves_rest } = piece;
        let len = usize::try_from(range.end - range.start).expect("at most a segment");
        let mut bytes = vec![0; len];
        read_around_holes(&*content, &mut bytes, range.start)?;
        content.check_unchanged()?;
        let (mut extents, mut blocks) = (Vec::new(), Vec::new());
        if let Some(encoder) = self.encoders.of_hot(plan, inode) {
            let written = encoder.write(&bytes, leaves_rest, &mut blocks, &mut extents);
            let path = || input.path(inode);
            written.map_err(|source| BuildError::Codec { path: path(), source })?;
        }
        // The file is stored uncompressed then, before those of which only a part is hot.
        let is_whole = len as u64 == input.size(inode);
        if is_whole && !is_gain(plan, inode, len as u64, blocks.len() as u64) {
            (extents, blocks) = (Vec::new(), Vec::new());
        }
        Ok(HotDone { piece, extents, blocks })
    }
}
