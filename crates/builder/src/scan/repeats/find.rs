//! Defines [`Finder`], which compares stretches with those that precede them.

use std::collections::HashMap;

use lith_tree::{Content, ContentError, InodeIndex};

use super::marks::{Marks, Repeat, Repeats};
use crate::{
    Input,
    coding::Coding,
    pieces::Position,
    plan::Plan,
    scan::{
        passes::{Scanned, Scanner},
        stretches::{Stretch, stretch_bits},
    },
};

/// The fewest bytes that are worth two cuts, each of which wastes half a block and more.
const LEAST: u64 = 16 << 10;
/// Bytes that are read at once.
const STEP: u64 = 64 << 10;
/// Bytes that are compared at once.
const LINE: usize = 64;

/// Which repeats are worth two cuts: one in the bytes that they repeat, one where they end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The fewest bytes of a repeat.
    pub(crate) least: u64,
    /// Within this distance in a file the compressor finds repeats by itself.
    pub(crate) reach: u64,
    /// No repeat goes beyond a multiple of this, nor does what it repeats.
    pub(crate) segment: u64,
    /// The usual length of a stretch as a power of two.
    pub(crate) stretch_bits: u32,
}

impl Limits {
    /// The limits of files with `content` bytes in all, most of which have this coding.
    pub(crate) fn new(coding: &Coding, segment: u64, content: u64) -> Self {
        let reach = u64::from(coding.compressor.window(coding.pcluster));
        // At the start of a pcluster the compressor has no window, which costs more where that would be large.
        let least = LEAST.max(reach / 8);
        let stretch_bits = stretch_bits(content);
        Self { least, reach, segment, stretch_bits }
    }
}

/// Two stretches that may be equal.
#[derive(Clone, Copy, Debug)]
struct Pair {
    start: u64,
    end: u64,
    /// Where the first one starts.
    of: Position,
    /// File and stretch that follow it.
    next: (usize, usize),
}

/// Visits the files in the order in which they are stored.
pub(super) struct Finder<'a, 's> {
    input: Input<'a>,
    plan: &'a Plan<'a>,
    scanned: &'s [Scanned],
    limits: Limits,
    /// File and stretch in which a hash occurred first, by coding and hash.
    first: HashMap<(usize, u64), (u32, u32)>,
    marks: HashMap<InodeIndex, Marks>,
}

impl<'a, 's> Finder<'a, 's> {
    pub(super) fn new(scanner: &Scanner<'a>, files: &'s [Scanned], limits: Limits) -> Self {
        let Scanner { input, plan, .. } = *scanner;
        Self { input, plan, scanned: files, limits, first: HashMap::new(), marks: HashMap::new() }
    }

    /// Finds all repeats.
    pub(super) fn find(mut self) -> Result<Repeats, ContentError> {
        for file in 0..self.scanned.len() {
            self.visit(file)?;
        }
        Ok(Repeats { marks: self.marks, segment: self.limits.segment })
    }

    fn stretch(&self, file: usize, stretch: usize) -> Option<Stretch> {
        self.scanned.get(file)?.stretches.get(stretch).copied()
    }

    fn visit(&mut self, file: usize) -> Result<(), ContentError> {
        let scanned: &'s [Scanned] = self.scanned;
        let Some(Scanned { inode, stretches, .. }) = scanned.get(file) else { return Ok(()) };
        let coding = self.plan.coding_number(*inode);
        let mut pair: Option<Pair> = None;
        for (number, stretch) in stretches.iter().enumerate() {
            let Some(hash) = stretch.hash else { continue };
            let here = (index(file), index(number));
            let first = *self.first.entry((coding, hash)).or_insert(here);
            let goes_on = pair.and_then(|pair| self.goes_on(pair, *stretch));
            if goes_on.is_some() {
                pair = goes_on;
            } else if first != here
                && let Some(known) = pair.replace(self.begin(*stretch, first))
            {
                self.compare(*inode, known)?;
            }
        }
        pair.map_or(Ok(()), |pair| self.compare(*inode, pair))
    }

    fn begin(&self, stretch: Stretch, (file, number): (u32, u32)) -> Pair {
        let (file, number) = (file as usize, number as usize);
        let inode = self.scanned.get(file).map_or(InodeIndex::ROOT, |scanned| scanned.inode);
        let position = self.stretch(file, number).map_or(0, |first| first.start);
        let end = stretch.start + u64::from(stretch.len);
        Pair {
            start: stretch.start,
            end,
            of: Position { inode, position },
            next: (file, number + 1),
        }
    }

    /// The pair with one more stretch, if that is as far after it as an equal stretch is after the first one.
    fn goes_on(&self, pair: Pair, stretch: Stretch) -> Option<Pair> {
        const SKIPPED: usize = 8;
        let (file, next) = pair.next;
        let position = pair.of.position + (stretch.start - pair.start);
        let mut others = (next..next + SKIPPED).map_while(|number| {
            let other = self.stretch(file, number).filter(|other| other.start <= position)?;
            Some((number, other))
        });
        let (number, _) = others.find(|(_, other)| {
            (other.start, other.len, other.hash) == (position, stretch.len, stretch.hash)
        })?;
        let end = stretch.start + u64::from(stretch.len);
        Some(Pair { end, next: (file, number + 1), ..pair })
    }

    /// Compares the bytes of a pair, and a little more on both sides, and marks those that are equal.
    fn compare(&mut self, inode: InodeIndex, pair: Pair) -> Result<(), ContentError> {
        if pair.end - pair.start < self.limits.least / 2 {
            return Ok(());
        }
        let more = 8 << self.limits.stretch_bits;
        let taken = self.marks.get(&inode).and_then(|marks| marks.repeats.last());
        let free = taken.map_or(0, |repeat| repeat.position + repeat.len);
        let before = more.min(pair.start.saturating_sub(free)).min(pair.of.position);
        let (start, position) = (pair.start - before, pair.of.position - before);
        let most = pair.end - start + more;
        let (ours, theirs) = (self.input.open(inode)?, self.input.open(pair.of.inode)?);
        let most = most.min(self.input.size(inode) - start);
        let most = most.min(self.input.size(pair.of.inode) - position);
        // What it repeats must be stored before it.
        let most = if pair.of.inode == inode { most.min(start - position) } else { most };
        for (skip, len) in equal_stretches(&*ours, &*theirs, (start, position), most)? {
            let of = Position { inode: pair.of.inode, position: position + skip };
            self.mark(inode, Repeat { position: start + skip, len, of });
        }
        Ok(())
    }

    /// Marks the parts of a repeat that are in one segment and repeat bytes that are no repeat themselves.
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
    u32::try_from(number).expect("there are fewer inodes than that, and far fewer stretches")
}

/// Starts and lengths of runs of equal bytes, among `len` bytes from each start on.
fn equal_stretches(
    ours: &dyn Content,
    theirs: &dyn Content,
    (start, position): (u64, u64),
    len: u64,
) -> Result<Vec<(u64, u64)>, ContentError> {
    let mut stretches = Vec::new();
    let mut stretch = 0;
    let mut bytes = [Vec::new(), Vec::new()];
    for done in (0..len).step_by(usize::try_from(STEP).expect("a step fits memory")) {
        let now = usize::try_from(STEP.min(len - done)).expect("a step fits memory");
        let [our, their] = &mut bytes;
        our.resize(now, 0);
        their.resize(now, 0);
        ours.read_at(our, start + done)?;
        theirs.read_at(their, position + done)?;
        if our == their {
            continue;
        }
        let lines = our.chunks(LINE).zip(their.chunks(LINE)).enumerate();
        for (line, (our, their)) in lines.filter(|(_, (a, b))| a != b) {
            let differing = our.iter().zip(their).zip(0..).filter(|((a, b), _)| a != b);
            for at in differing.map(|(_, at)| done + (line * LINE) as u64 + at) {
                if at > stretch {
                    stretches.push((stretch, at - stretch));
                }
                stretch = at + 1;
            }
        }
    }
    if len > stretch {
        stretches.push((stretch, len - stretch));
    }
    Ok(stretches)
}

#[cfg(test)]
mod tests {
    use lith_tree::DataRange;

    use super::*;

    struct Bytes(Vec<u8>);

    impl Content for Bytes {
        fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), ContentError> {
            let start = usize::try_from(position).unwrap();
            buf.copy_from_slice(&self.0[start..start + buf.len()]);
            Ok(())
        }

        fn range_at(&self, _position: u64) -> Result<DataRange, ContentError> {
            Ok(DataRange::Data { end: self.0.len() as u64 })
        }

        fn check_unchanged(&self) -> Result<(), ContentError> {
            Ok(())
        }
    }

    #[test]
    fn equal_stretches_lie_between_differing_bytes() {
        let ours: Vec<u8> = (0..200_000_u32).map(|at| at.to_le_bytes()[1]).collect();
        let mut theirs = [&[1, 2, 3][..], &ours].concat();
        let differing = [5_u64, 31, 32, 33, 95, 65_545, 65_546, 131_000, 199_999];
        for at in differing {
            theirs[usize::try_from(at).unwrap() + 3] ^= 0x80;
        }
        let mut expected = Vec::new();
        let mut start = 5;
        for at in differing {
            if at > start {
                expected.push((start - 5, at - start));
            }
            start = start.max(at + 1);
        }
        let found = equal_stretches(&Bytes(ours), &Bytes(theirs), (5, 8), 199_995).unwrap();
        assert_eq!(found, expected);
    }
}
