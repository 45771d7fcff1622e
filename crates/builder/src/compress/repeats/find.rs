//! Which stretches of files have the bytes of stretches before them?

use std::collections::HashMap;

use lith_tree::{Content, ContentError, InodeIndex, Kind};

use super::{
    Looked, Marks, Place, Repeat,
    chunks::{Chunk, chunk_bits},
};
use crate::{codings::Coding, compress::Sources};

/// The fewest bytes that are worth two cuts, each of which wastes half a block and more.
const LEAST: u64 = 16 << 10;
/// Bytes that are compared at once.
const STEP: u64 = 64 << 10;

/// Which repeats are worth a cut in what they repeat, and another where they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The fewest bytes of a repeat.
    pub(crate) least: u64,
    /// Within this distance in a file the compressor finds repeats by itself.
    pub(crate) reach: u64,
    /// No repeat goes beyond a multiple of this, nor does what it repeats.
    pub(crate) segment: u64,
    /// A chunk's usual length as a power of two.
    pub(crate) chunk_bits: u32,
}

impl Limits {
    /// Those of files of so much content that are mostly compressed like this.
    pub(crate) fn new(coding: &Coding, segment: u64, content: u64) -> Self {
        let reach = u64::from(coding.compressor.window(coding.pcluster));
        // Where a pcluster begins the compressor knows nothing of what is before it, which costs more where it would
        // have known much.
        let least = LEAST.max(reach / 8);
        let chunk_bits = chunk_bits(content);
        Self { least, reach, segment, chunk_bits }
    }
}

/// Two stretches that may be equal.
#[derive(Clone, Copy, Debug)]
struct Pair {
    start: u64,
    end: u64,
    /// Where the first one begins.
    of: Place,
    /// The chunk behind it.
    next: (usize, usize),
}

/// Goes through the files in the order in which they are stored.
pub(super) struct Finder<'a, 'l> {
    sources: Sources<'a>,
    looked: &'l [Looked],
    limits: Limits,
    /// File and chunk in which a hash came first, by coding and hash.
    first: HashMap<(usize, u64), (u32, u32)>,
    pub(super) marks: HashMap<InodeIndex, Marks>,
}

impl<'a, 'l> Finder<'a, 'l> {
    pub(super) fn new(sources: Sources<'a>, looked: &'l [Looked], limits: Limits) -> Self {
        Self { sources, looked, limits, first: HashMap::new(), marks: HashMap::new() }
    }

    pub(super) fn go_through_all(&mut self) -> Result<(), ContentError> {
        for file in 0..self.looked.len() {
            self.go_through(file)?;
        }
        Ok(())
    }

    fn chunk(&self, file: usize, chunk: usize) -> Option<Chunk> {
        self.looked.get(file)?.chunks.get(chunk).copied()
    }

    fn go_through(&mut self, file: usize) -> Result<(), ContentError> {
        let Some(Looked { inode, chunks }) = self.looked.get(file) else { return Ok(()) };
        let coding = self.sources.codings.number(*inode);
        let mut pair: Option<Pair> = None;
        for (number, chunk) in chunks.iter().enumerate() {
            let Some(hash) = chunk.hash else { continue };
            let here = (index(file), index(number));
            let first = *self.first.entry((coding, hash)).or_insert(here);
            let goes_on = pair.and_then(|pair| self.goes_on(pair, *chunk));
            if goes_on.is_some() {
                pair = goes_on;
            } else if first != here
                && let Some(known) = pair.replace(self.begin(*chunk, first))
            {
                self.compare(*inode, known)?;
            }
        }
        pair.map_or(Ok(()), |pair| self.compare(*inode, pair))
    }

    fn begin(&self, chunk: Chunk, (file, number): (u32, u32)) -> Pair {
        let (file, number) = (file as usize, number as usize);
        let inode = self.looked.get(file).map_or(InodeIndex::ROOT, |looked| looked.inode);
        let position = self.chunk(file, number).map_or(0, |first| first.start);
        let end = chunk.start + u64::from(chunk.len);
        Pair { start: chunk.start, end, of: Place { inode, position }, next: (file, number + 1) }
    }

    /// The pair with the chunk, if that is as far behind it as an equal chunk is behind the first stretch.
    fn goes_on(&self, pair: Pair, chunk: Chunk) -> Option<Pair> {
        const SKIPPED: usize = 8;
        let (file, next) = pair.next;
        let position = pair.of.position + (chunk.start - pair.start);
        let mut others = (next..next + SKIPPED).map_while(|number| {
            let other = self.chunk(file, number).filter(|other| other.start <= position)?;
            Some((number, other))
        });
        let (number, _) = others.find(|(_, other)| {
            (other.start, other.len, other.hash) == (position, chunk.len, chunk.hash)
        })?;
        let end = chunk.start + u64::from(chunk.len);
        Some(Pair { end, next: (file, number + 1), ..pair })
    }

    /// Marks what is equal of two stretches and a little more on both sides.
    fn compare(&mut self, inode: InodeIndex, pair: Pair) -> Result<(), ContentError> {
        if pair.end - pair.start < self.limits.least / 2 {
            return Ok(());
        }
        let more = 8 << self.limits.chunk_bits;
        let taken = self.marks.get(&inode).and_then(|marks| marks.repeats.last());
        let free = taken.map_or(0, |repeat| repeat.position + repeat.len);
        let before = more.min(pair.start.saturating_sub(free)).min(pair.of.position);
        let (start, position) = (pair.start - before, pair.of.position - before);
        let most = pair.end - start + more;
        let (ours, theirs) = (self.sources.open(inode)?, self.sources.open(pair.of.inode)?);
        let size = |inode| match self.sources.node(inode).kind {
            Kind::Regular { size } => size,
            _ => 0,
        };
        let most = most.min(size(inode) - start).min(size(pair.of.inode) - position);
        // What it repeats must be stored before it.
        let most = if pair.of.inode == inode { most.min(start - position) } else { most };
        for (skip, len) in equal_stretches(&*ours, &*theirs, (start, position), most)? {
            let of = Place { inode: pair.of.inode, position: position + skip };
            self.mark(inode, Repeat { position: start + skip, len, of });
        }
        Ok(())
    }

    /// Marks the parts of a repeat that lie in one segment and repeat what is no repeat itself.
    fn mark(&mut self, inode: InodeIndex, mut left: Repeat) {
        let Limits { least, reach, segment, .. } = self.limits;
        if inode == left.of.inode && left.position - left.of.position < reach {
            return;
        }
        while left.len >= least {
            let from = left.of.position;
            let others = self.marks.get(&left.of.inode).map_or(&[][..], |marks| &marks.repeats);
            let behind = others.partition_point(|other| other.position + other.len <= from);
            let other = others.get(behind).map_or(u64::MAX, |other| other.position);
            let other_end = others.get(behind).map_or(0, |other| other.position + other.len);
            let to_end = |position: u64| segment - position % segment;
            let len = left.len.min(to_end(from)).min(to_end(left.position));
            if other <= from {
                left = left.without(other_end - from);
                continue;
            }
            let len = len.min(other - from);
            self.add(inode, Repeat { len, ..left });
            left = left.without(len);
        }
    }

    fn add(&mut self, inode: InodeIndex, mut repeat: Repeat) {
        if repeat.len < self.limits.least {
            return;
        }
        let cuts = &mut self.marks.entry(repeat.of.inode).or_default().cuts;
        // A cut that is there already costs nothing.
        let near = repeat.of.position..=repeat.of.position + repeat.len / 8;
        match cuts.range(near).next() {
            Some(cut) => repeat = repeat.without(cut - repeat.of.position),
            None => _ = cuts.insert(repeat.of.position),
        }
        self.marks.entry(inode).or_default().repeats.push(repeat);
    }
}

fn index(number: usize) -> u32 {
    // There are fewer inodes than that, and far fewer chunks.
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Where, of `len` bytes from each start on, stretches of equal ones begin, and their lengths.
fn equal_stretches(
    ours: &dyn Content,
    theirs: &dyn Content,
    (start, position): (u64, u64),
    len: u64,
) -> Result<Vec<(u64, u64)>, ContentError> {
    let mut stretches = Vec::new();
    let mut stretch = 0;
    let mut bytes = [Vec::new(), Vec::new()];
    for done in (0..len).step_by(usize::try_from(STEP).unwrap_or(usize::MAX)) {
        let now = usize::try_from(STEP.min(len - done)).unwrap_or(usize::MAX);
        let [our, their] = &mut bytes;
        our.resize(now, 0);
        their.resize(now, 0);
        ours.read_at(our, start + done)?;
        theirs.read_at(their, position + done)?;
        if our == their {
            continue;
        }
        let differing = our.iter().zip(&*their).enumerate().filter(|(_, (a, b))| a != b);
        for at in differing.map(|(at, _)| done + at as u64) {
            if at > stretch {
                stretches.push((stretch, at - stretch));
            }
            stretch = at + 1;
        }
    }
    if len > stretch {
        stretches.push((stretch, len - stretch));
    }
    Ok(stretches)
}
