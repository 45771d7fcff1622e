//! In what order does the packed inode hold fragments? Makes the [`Packing`], and with it the packed inode.
//!
//! Small files and the ends of large ones are put together into one extra inode, whose pclusters they share: none of them
//! wastes the rest of a block, and each helps to compress the similar ones after it.

mod likeness;

use std::num::NonZeroUsize;

use lith_tree::{Content, ContentError, DataRange, Inode, InodeIndex, Kind, Metadata};

use self::likeness::by_likeness;
use crate::{
    BuildError, Input,
    input::ExtraInode,
    plan::Geometry,
    scan::{Fragment, Sketch, originals},
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
    /// The long prefixes of extended attributes, for kernels that look for them here.
    prefixes: Vec<u8>,
    /// By position, without gaps, from the end of the prefixes on.
    parts: Vec<Part>,
    directories_start: u64,
    size: u64,
}

/// Orders fragments by similarity, with those of equal bytes stored once, and directories after them: the ones that are
/// whole files, and the tails of others, each in the order of `files`. Returns the packed inode, and where it holds each
/// of them; `None` if there is nothing to pack.
///
/// # Errors
/// [`BuildError`] if fragments that may be equal can't be read.
pub(crate) fn pack(
    geometry: Geometry<'_>,
    files: &[InodeIndex],
    (whole, tails): (Vec<Fragment>, Vec<Tail>),
    workers: NonZeroUsize,
) -> Result<Option<(Packing, PackedParts)>, BuildError> {
    let plan = geometry.plan;
    let directories = geometry.packed_directories();
    if whole.is_empty() && tails.is_empty() && directories.is_empty() {
        return Ok(None);
    }
    let is_plain = plan.has_plain_prefixes(true);
    let prefixes = if is_plain { Vec::new() } else { plan.xattrs.prefixes.encode() };
    let fragments = in_order(files, &whole, &tails);
    let (parts, positions, mut size) = place(geometry, &fragments, prefixes.len() as u64, workers)?;
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
    let packing = Packing { prefixes, parts, directories_start, size };
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

/// The parts of the packed inode from byte `start` on, the position of each fragment, and the end of all.
fn place(
    Geometry { input, plan }: Geometry<'_>,
    fragments: &[&Fragment],
    start: u64,
    workers: NonZeroUsize,
) -> Result<(Vec<Part>, Vec<u64>, u64), BuildError> {
    let originals = originals(input, plan, fragments)?;
    let first: Vec<usize> =
        (0..fragments.len()).filter(|at| originals.get(*at) == Some(at)).collect();
    let sketches: Vec<&Sketch> =
        first.iter().filter_map(|at| fragments.get(*at)).map(|f| &f.sketch).collect();
    let mut positions = vec![0; fragments.len()];
    let mut parts = Vec::with_capacity(first.len());
    let mut position = start;
    for at in by_likeness(&sketches, workers).into_iter().filter_map(|rank| first.get(rank)) {
        let (Some(fragment), Some(slot)) = (fragments.get(*at), positions.get_mut(*at)) else {
            continue;
        };
        let Fragment { inode, start, len, .. } = **fragment;
        *slot = position;
        parts.push(Part { position, inode, start, len });
        position += len;
    }
    let of_original = |original: &usize| positions.get(*original).copied();
    let positions = originals.iter().filter_map(of_original).collect();
    Ok((parts, positions, position))
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
        ExtraInode { index: plan.packed, inode, content }
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

impl Content for Packed<'_> {
    fn read_at(&self, mut buf: &mut [u8], mut position: u64) -> Result<(), ContentError> {
        let prefixes =
            usize::try_from(position).ok().and_then(|at| self.packing.prefixes.get(at..));
        let prefixes = prefixes.unwrap_or_default();
        let (now, later) = buf.split_at_mut(prefixes.len().min(buf.len()));
        now.copy_from_slice(prefixes.get(..now.len()).unwrap_or_default());
        position += now.len() as u64;
        buf = later;
        while !buf.is_empty() {
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
