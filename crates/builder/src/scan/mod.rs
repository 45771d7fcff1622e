//! What is known of content before it is stored? Makes the [`Analysis`]: reads, and stores nothing.

mod analysis;
mod duplicates;
mod known;
mod parts;
mod passes;
mod repeats;
mod search;
mod sketch;
mod stretches;

use std::collections::{HashMap, HashSet};

use lith_tree::InodeIndex;

pub(crate) use self::{
    analysis::{Analysis, Fragment, Unread},
    duplicates::originals,
    parts::{Part, Parts},
    repeats::{Mark, Repeat, Repeats},
    sketch::{STRINGS, Sketch},
};
use self::{
    passes::{Scanned, Scanner, Task},
    repeats::find_repeats,
    search::find_parts,
};
use crate::{BuildError, Context, PIECE, plan::Geometry, sparse::is_mostly_hole};

/// Small files that are scanned at once: what is found out about each takes more memory than what is kept of it.
const SKETCHED: usize = 1 << 16;

/// Scans regular files, in the order in which they will be stored.
///
/// # Errors
/// [`BuildError`] if content can't be read, or can't be where the source says that it is.
pub(crate) fn scan<'a>(
    geometry: Geometry<'a>,
    order: &[InodeIndex],
    context: &Context<'_>,
) -> Result<Analysis<'a>, BuildError> {
    let Geometry { input, plan } = geometry;
    let scanner = Scanner { input, plan, context };
    let mut unread = known::unread(geometry, order)?;
    let is_read: HashSet<_> = unread.iter().map(|(inode, _)| *inode).collect();
    let mut files: Vec<_> =
        order.iter().filter(|inode| !is_read.contains(inode)).copied().collect();
    let mut found = known::find(geometry, &scanner, &files)?;
    let is_known: HashSet<_> = found.iter().map(|(inode, _)| *inode).collect();
    files.retain(|inode| !is_known.contains(inode));
    // In a merge that is nearly every file, and the list lives until all are stored: it is neither copied nor has it room for more.
    if unread.is_empty() {
        std::mem::swap(&mut unread, &mut found);
    }
    unread.append(&mut found);
    unread.shrink_to_fit();
    unread.sort_unstable_by_key(|(inode, _)| *inode);
    let duplicates = find_duplicates(geometry, &scanner, &files)?;
    files.retain(|inode| !duplicates.contains_key(inode));
    let sparse = find_sparse(geometry, &files)?;
    let is_fragment = |inode: &&InodeIndex| {
        input.size(**inode) <= plan.longest_fragment(**inode) && !sparse.contains(inode)
    };
    let (small, large): (Vec<_>, Vec<_>) = files.iter().partition(is_fragment);
    let large: Vec<_> = large.into_iter().filter(|inode| !sparse.contains(inode)).collect();
    let parts = find_parts((input, plan), &large, context)?;
    // The segments of a file either repeat others or have parts elsewhere, as those of hot files will have.
    let is_whole = |file: &&InodeIndex| !parts.contains_key(*file) && !plan.hot.has(**file);
    let whole: Vec<_> = files.iter().filter(is_whole).copied().collect();
    let repeats = find_repeats(&scanner, &whole, &sparse)?;
    let (mut fragments, mut sketches) =
        (Vec::with_capacity(small.len()), Vec::with_capacity(small.len()));
    for small in small.chunks(SKETCHED) {
        for scanned in scanner.scan(Task::Sketch, small)? {
            fragments.push(scanned.whole());
            sketches.push(scanned.sketch);
        }
    }
    Ok(Analysis { files, unread, duplicates, fragments, sketches, sparse, parts, repeats })
}

/// For each file with the bytes of a preceding one that one, if what is stored of it can serve both.
fn find_duplicates(
    geometry: Geometry<'_>,
    scanner: &Scanner<'_>,
    files: &[InodeIndex],
) -> Result<HashMap<InodeIndex, InodeIndex>, BuildError> {
    let Geometry { input, plan } = geometry;
    let layout = &plan.options.layout;
    // Chunks are compared with each other anyway.
    let all_in_chunks = layout.chunks.is_some() && !plan.compresses();
    if !layout.share_duplicates || all_in_chunks {
        return Ok(HashMap::new());
    }
    let candidates = duplicates::candidates(input, plan, files);
    let found = scanner.scan(Task::Digest, &candidates)?;
    let files: Vec<Fragment> = found.iter().map(Scanned::whole).collect();
    let originals = originals(input, plan, &files.iter().collect::<Vec<_>>())?;
    let pairs = files.iter().zip(originals.iter().filter_map(|at| files.get(*at as usize)));
    // Their index tables start at the same distance from the inode.
    let header = |file: &Fragment| geometry.map_header(file.inode, file.len);
    let pairs = pairs.filter(|(file, original)| header(file) == header(original));
    let pairs = pairs.map(|(file, original)| (file.inode, original.inode));
    Ok(pairs.filter(|(file, original)| file != original).collect())
}

/// The files of more than one piece that would be compressed, but are better stored with holes.
fn find_sparse(
    Geometry { input, plan }: Geometry<'_>,
    files: &[InodeIndex],
) -> Result<HashSet<InodeIndex>, BuildError> {
    let mut sparse = HashSet::new();
    if !plan.options.has_holes() {
        return Ok(sparse);
    }
    for inode in files.iter().filter(|inode| plan.coding(**inode).is_some()) {
        let size = input.size(*inode);
        let piece = if size <= plan.longest_fragment(*inode) { PIECE } else { plan.segment };
        if size > piece && is_mostly_hole(&*input.open(*inode)?, size, plan.options.layout.block)? {
            sparse.insert(*inode);
        }
    }
    Ok(sparse)
}
