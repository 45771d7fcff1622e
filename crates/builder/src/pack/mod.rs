//! In what order does the packed inode hold fragments? Makes the [`Packing`], and with it the packed inode.
//!
//! Small files and the ends of large ones are put together into one extra inode, whose pclusters they share: none of them
//! wastes the rest of a block, and each helps to compress the similar ones after it.

mod earlier;
mod likeness;
mod packing;
mod trial;

use std::{num::NonZeroUsize, ops::Range};

use lith_tree::InodeIndex;

pub(crate) use self::packing::Packing;
use self::{earlier::Kept, packing::Part, trial::in_best_order};
use crate::{
    BuildError, KnownPacked,
    plan::Geometry,
    scan::{Fragment, Sketch, originals},
    store::{PackedParts, Tail},
};

/// Small files with their sketches, tails of others, and what is known of other packed inodes with the ranges of it to which files
/// refer.
type Pieces<'a> =
    ((Vec<Fragment>, Vec<Sketch>), Vec<Tail>, Option<(&'a KnownPacked, Vec<Range<u64>>)>);

/// Orders fragments, hot ones by their first use, then those of an earlier image in its order, then the others by
/// similarity, with those of equal bytes stored once, and directories after them: the ones that are whole files, and the
/// tails of others, each in the order of `files`. Returns the packed inode, and where it holds each
/// of them; `None` if there is nothing to pack. What is `known` of other packed inodes comes first.
///
/// # Errors
/// [`BuildError`] if fragments that may be equal can't be read.
pub(crate) fn pack(
    geometry: Geometry<'_>,
    files: &[InodeIndex],
    ((whole, sketches), tails, known): Pieces<'_>,
    workers: NonZeroUsize,
) -> Result<Option<(Packing, PackedParts)>, BuildError> {
    let plan = geometry.plan;
    let directories = geometry.packed_directories();
    let (known, unused) =
        known.map_or((0, Vec::new()), |(packed, used)| (packed.size, packed.unused(used)));
    if whole.is_empty() && tails.is_empty() && directories.is_empty() && known == 0 {
        return Ok(None);
    }
    let is_plain = plan.has_plain_prefixes(true);
    let prefixes = if is_plain { Vec::new() } else { plan.xattrs.prefixes.encode() };
    let (fragments, alike): (Vec<_>, Vec<_>) = in_order(files, (&whole, &sketches), &tails).unzip();
    let ordered = Ordered::new(geometry, (&fragments, &alike), workers)?;
    drop(alike);
    drop(sketches);
    let prefixes_start = if prefixes.is_empty() { known } else { known.next_multiple_of(4) };
    let start = prefixes_start + prefixes.len() as u64;
    let Placed { parts, positions, hot_end, cuts, end: mut size } =
        place(geometry, &fragments, ordered, start);
    let (mut of_whole, mut of_tails) = (Vec::with_capacity(whole.len()), Vec::new());
    let mut next = whole.iter().map(|fragment| fragment.inode).peekable();
    for (fragment, position) in fragments.into_iter().zip(positions) {
        let is_whole = next.next_if_eq(&fragment.inode).is_some();
        if is_whole { &mut of_whole } else { &mut of_tails }.push(position);
    }
    let directories_start = size;
    let mut place_directory = |(inode, bytes): (InodeIndex, u64)| {
        size += bytes;
        (inode, size - bytes)
    };
    let directories = directories.into_iter().map(&mut place_directory).collect();
    let of_file = |(file, position): (Fragment, u64)| (file.inode, file.digest, position);
    let mut files: Vec<_> = whole.into_iter().zip(of_whole).map(of_file).collect();
    files.shrink_to_fit();
    let tails = tails.into_iter().zip(of_tails).collect();
    let packing = Packing {
        known,
        unused,
        prefixes,
        prefixes_start,
        parts,
        hot_end,
        cuts,
        directories_start,
        size,
    };
    Ok(Some((packing, PackedParts { files, tails, directories })))
}

/// Whole files and the tails of others, in the order of the files.
fn in_order<'f: 's, 's>(
    files: &[InodeIndex],
    (whole, sketches): (&'f [Fragment], &'s [Sketch]),
    tails: &'f [Tail],
) -> impl Iterator<Item = (&'f Fragment, &'s Sketch)> {
    let mut whole = whole.iter().zip(sketches).peekable();
    let mut tails = tails.iter().map(|tail| (&tail.fragment, &tail.sketch)).peekable();
    let next = move |inode: &InodeIndex| {
        let is_of = |(fragment, _): &(&Fragment, &Sketch)| fragment.inode == *inode;
        whole.next_if(is_of).or_else(|| tails.next_if(is_of))
    };
    files.iter().filter_map(next)
}

/// The numbers of fragments in the order in which they are stored, and for each the first one with the same bytes.
struct Ordered {
    originals: Vec<u32>,
    hot: Vec<u32>,
    kept: Kept,
    others: Vec<u32>,
}

impl Ordered {
    fn new(
        geometry: Geometry<'_>,
        (fragments, sketches): (&[&Fragment], &[&Sketch]),
        workers: NonZeroUsize,
    ) -> Result<Self, BuildError> {
        let originals = originals(geometry.input, geometry.plan, fragments)?;
        let first = (0..).zip(&originals).filter(|(at, original)| *at == **original);
        let first = first.map(|(at, _)| at);
        let (hot, others) = by_heat(geometry, fragments, first);
        let (kept, others) = Kept::new(&geometry.input.order.packed, fragments, others);
        let others = in_best_order(geometry, (fragments, sketches), &others, workers)?;
        Ok(Self { originals, hot, kept, others })
    }
}

/// Where fragments are in the packed inode.
struct Placed {
    parts: Vec<Part>,
    /// The position of each fragment.
    positions: Vec<u64>,
    /// The end of those that are hot; 0 if none is.
    hot_end: u64,
    /// Where pclusters must start.
    cuts: Vec<u64>,
    end: u64,
}

/// Places fragments in the packed inode, from byte `start` on.
fn place(
    geometry: Geometry<'_>,
    fragments: &[&Fragment],
    Ordered { originals, hot, kept, others }: Ordered,
    start: u64,
) -> Placed {
    let mut positions = vec![0; fragments.len()];
    let mut parts = Vec::with_capacity(hot.len() + others.len());
    let (mut position, mut hot_end) = (start, 0);
    for (number, at) in hot.iter().copied().chain(kept.numbers()).chain(others).enumerate() {
        let at = at as usize;
        let (Some(fragment), Some(slot)) = (fragments.get(at), positions.get_mut(at)) else {
            continue;
        };
        *slot = position;
        parts.push(Part::new(position, fragment));
        position += fragment.len;
        if number < hot.len() {
            hot_end = position;
        }
    }
    let of_original = |original: &u32| positions.get(*original as usize).copied();
    let positions = originals.iter().filter_map(of_original).collect();
    let Geometry { input, plan } = geometry;
    let cuts = kept.cuts(&input.order.packed, fragments, (hot_end.max(start), plan.segment));
    Placed { parts, positions, hot_end, cuts, end: position }
}

/// The numbers of the fragments that are hot, in the order of their first use, and of the others.
fn by_heat(
    Geometry { plan, .. }: Geometry<'_>,
    fragments: &[&Fragment],
    numbers: impl Iterator<Item = u32>,
) -> (Vec<u32>, Vec<u32>) {
    let (mut hot, mut others) = (Vec::new(), Vec::new());
    for at in numbers {
        let rank = fragments.get(at as usize).and_then(|fragment| {
            let Fragment { inode, start, len, .. } = **fragment;
            plan.hot.rank(inode, &(start..start + len))
        });
        match rank {
            Some(rank) => hot.push((rank, at)),
            None => others.push(at),
        }
    }
    hot.sort_unstable();
    (hot.into_iter().map(|(_, at)| at).collect(), others)
}
