//! In what order does the packed inode hold fragments? Makes the [`Packing`], and with it the packed inode.
//!
//! Small files and the ends of large ones are put together into one extra inode, whose pclusters they share: none of them
//! wastes the rest of a block, and each helps to compress the similar ones after it.

mod likeness;
mod trial;

use std::num::NonZeroUsize;

use lith_tree::{Content, ContentError, DataRange, Inode, InodeIndex, Kind, Metadata};

use self::trial::in_best_order;
use crate::{
    BuildError, Input, KnownPacked,
    input::ExtraInode,
    plan::Geometry,
    scan::{Fragment, originals},
    store::{PackedParts, Tail},
    temporary::Temporary,
};

/// A fragment and the position of its bytes in the packed inode.
#[derive(Clone, Copy, Debug)]
struct Part {
    position: u64,
    inode: InodeIndex,
    start: u64,
    len: u64,
}

/// The content of the packed inode.
pub(crate) struct Packing {
    /// Bytes at the start that other packed inodes hold.
    known: u64,
    /// The long prefixes of extended attributes, for kernels that look for them here.
    prefixes: Vec<u8>,
    /// Where they start, at a multiple of 4.
    prefixes_start: u64,
    /// By position, without gaps, from the end of the prefixes on.
    parts: Vec<Part>,
    /// The end of the fragments that are read first.
    hot_end: u64,
    directories_start: u64,
    size: u64,
}

/// Orders fragments, hot ones by their first use, then the others by similarity, with those of equal bytes stored once, and directories after them: the ones that are
/// whole files, and the tails of others, each in the order of `files`. Returns the packed inode, and where it holds each
/// of them; `None` if there is nothing to pack. What is `known` of other packed inodes, if some file refers to that, comes
/// first.
///
/// # Errors
/// [`BuildError`] if fragments that may be equal can't be read.
pub(crate) fn pack(
    geometry: Geometry<'_>,
    files: &[InodeIndex],
    (whole, tails, known): (Vec<Fragment>, Vec<Tail>, Option<&KnownPacked>),
    workers: NonZeroUsize,
) -> Result<Option<(Packing, PackedParts)>, BuildError> {
    let plan = geometry.plan;
    let directories = geometry.packed_directories();
    let known = known.map_or(0, |packed| packed.size);
    if whole.is_empty() && tails.is_empty() && directories.is_empty() && known == 0 {
        return Ok(None);
    }
    let is_plain = plan.has_plain_prefixes(true);
    let prefixes = if is_plain { Vec::new() } else { plan.xattrs.prefixes.encode() };
    let fragments = in_order(files, &whole, &tails);
    let prefixes_start = if prefixes.is_empty() { known } else { known.next_multiple_of(4) };
    let start = prefixes_start + prefixes.len() as u64;
    let Placed { parts, positions, hot_end, end: mut size } =
        place(geometry, &fragments, start, workers)?;
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
    // Otherwise it keeps the memory of the sketches.
    files.shrink_to_fit();
    let tails = tails.into_iter().zip(of_tails).collect();
    let packing =
        Packing { known, prefixes, prefixes_start, parts, hot_end, directories_start, size };
    Ok(Some((packing, PackedParts { files, tails, directories })))
}

/// Whole files and the tails of others, in the order of the files.
fn in_order<'a>(
    files: &[InodeIndex],
    whole: &'a [Fragment],
    tails: &'a [Tail],
) -> Vec<&'a Fragment> {
    let mut whole = whole.iter().peekable();
    let mut tails = tails.iter().map(|tail| &tail.fragment).peekable();
    let next = |inode: &InodeIndex| {
        let is_of = |fragment: &&Fragment| fragment.inode == *inode;
        whole.next_if(is_of).or_else(|| tails.next_if(is_of))
    };
    files.iter().filter_map(next).collect()
}

impl Part {
    const fn new(position: u64, fragment: &Fragment) -> Self {
        let Fragment { inode, start, len, .. } = *fragment;
        Self { position, inode, start, len }
    }
}

/// Where fragments are in the packed inode.
struct Placed {
    parts: Vec<Part>,
    /// The position of each fragment.
    positions: Vec<u64>,
    /// The end of those that are hot; 0 if none is.
    hot_end: u64,
    end: u64,
}

/// Places fragments in the packed inode, from byte `start` on.
fn place(
    geometry: Geometry<'_>,
    fragments: &[&Fragment],
    start: u64,
    workers: NonZeroUsize,
) -> Result<Placed, BuildError> {
    let originals = originals(geometry.input, geometry.plan, fragments)?;
    let first = (0..fragments.len()).filter(|at| originals.get(*at) == Some(at));
    let (hot, others) = by_heat(geometry, fragments, first);
    let ordered: Vec<&Fragment> =
        others.iter().filter_map(|at| fragments.get(*at).copied()).collect();
    let order = in_best_order(geometry, &ordered, workers)?;
    let others = order.into_iter().filter_map(|rank| others.get(rank));
    let mut positions = vec![0; fragments.len()];
    let mut parts = Vec::with_capacity(hot.len() + ordered.len());
    let (mut position, mut hot_end) = (start, 0);
    for (number, at) in hot.iter().chain(others).enumerate() {
        let (Some(fragment), Some(slot)) = (fragments.get(*at), positions.get_mut(*at)) else {
            continue;
        };
        *slot = position;
        parts.push(Part::new(position, fragment));
        position += fragment.len;
        if number < hot.len() {
            hot_end = position;
        }
    }
    let of_original = |original: &usize| positions.get(*original).copied();
    let positions = originals.iter().filter_map(of_original).collect();
    Ok(Placed { parts, positions, hot_end, end: position })
}

/// The numbers of the fragments that are hot, in the order of their first use, and of the others.
fn by_heat(
    Geometry { plan, .. }: Geometry<'_>,
    fragments: &[&Fragment],
    numbers: impl Iterator<Item = usize>,
) -> (Vec<usize>, Vec<usize>) {
    let (mut hot, mut others) = (Vec::new(), Vec::new());
    for at in numbers {
        let rank = fragments.get(at).and_then(|fragment| {
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

impl Packing {
    /// The packed inode, with the content of the directories if some are packed. Its bytes are read from the files of
    /// `input` when they are needed.
    pub(crate) fn inode<'a>(
        &'a self,
        Geometry { input, plan }: Geometry<'a>,
        directories: Option<Temporary>,
    ) -> ExtraInode<'a> {
        let metadata = Metadata { permissions: 0o644, mtime: plan.epoch, ..Metadata::default() };
        let inode = Inode::nameless(metadata, Kind::Regular { size: self.size });
        let content = Box::new(Packed { input, packing: self, directories });
        let border = Some(self.hot_end).filter(|end| *end > 0 && *end < self.size);
        ExtraInode { index: plan.packed, inode, border, content }
    }

    /// Where the long prefixes of extended attributes are, in units of 4 bytes. `None`: too far on for the superblock.
    pub(crate) fn prefixes_start(&self) -> Option<u32> {
        u32::try_from(self.prefixes_start / 4).ok()
    }

    fn part_at(&self, position: u64) -> Option<&Part> {
        let after = self.parts.partition_point(|part| part.position <= position);
        self.parts.get(after.checked_sub(1)?)
    }
}

/// The bytes of the packed inode, from the files that they belong to.
struct Packed<'a> {
    input: Input<'a>,
    packing: &'a Packing,
    directories: Option<Temporary>,
}

impl Packed<'_> {
    /// Reads known bytes, the prefixes, or the zeros before these, and returns how many bytes that were.
    fn read_head(&self, buf: &mut [u8], position: u64) -> Result<usize, ContentError> {
        let Packing { known, prefixes, prefixes_start, .. } = self.packing;
        let room = |end: u64| usize::try_from(end.saturating_sub(position)).unwrap_or(usize::MAX);
        let len = room(*known).min(buf.len());
        if len > 0 {
            let number = self.input.known.packed.as_ref().map_or(0, |packed| packed.content);
            let content = self.input.known.contents.open(number)?;
            content.read_at(buf.get_mut(..len).unwrap_or_default(), position)?;
            return Ok(len);
        }
        let len = room(*prefixes_start).min(buf.len());
        if len > 0 {
            buf.iter_mut().take(len).for_each(|byte| *byte = 0);
            return Ok(len);
        }
        let at = usize::try_from(position - prefixes_start).unwrap_or(usize::MAX);
        let left = prefixes.get(at..).unwrap_or_default();
        Ok(buf.iter_mut().zip(left).map(|(to, from)| *to = *from).count())
    }
}

impl Content for Packed<'_> {
    fn read_at(&self, mut buf: &mut [u8], mut position: u64) -> Result<(), ContentError> {
        while !buf.is_empty() {
            let copied = self.read_head(buf, position)?;
            if copied > 0 {
                position += copied as u64;
                buf = buf.get_mut(copied..).unwrap_or_default();
                continue;
            }
            if let Some(position) = position.checked_sub(self.packing.directories_start)
                && let Some(directories) = &self.directories
            {
                return directories.read_at(buf, position);
            }
            let Some(part) = self.packing.part_at(position) else { return Ok(()) };
            let skip = position - part.position;
            let left = usize::try_from(part.len - skip).unwrap_or(usize::MAX);
            let (now, later) = buf.split_at_mut(left.min(buf.len()));
            let content = self.input.open(part.inode)?;
            content.read_at(now, part.start + skip)?;
            content.check_unchanged()?;
            position += now.len() as u64;
            buf = later;
        }
        Ok(())
    }

    fn range_at(&self, _position: u64) -> Result<DataRange, ContentError> {
        Ok(DataRange::Data { end: self.packing.size })
    }

    /// Each file is checked when it is read.
    fn check_unchanged(&self) -> Result<(), ContentError> {
        Ok(())
    }
}
