//! Cuts a compressed block so that it fits.
//!
//! Sequences are read from the end of their stream, so the first of them are its last bits, and leaving
//! out the others is a shift. Their offsets refer to the sequences before them, all of which stay.
//! Only the literals are written anew, with the codes that the block has.

use super::bits::shifted;
use super::huffman::Codes;
use super::sections::{Coding, Literals, Sequences, Tables, Walk};

/// Fewer literals than this are one stream, not four.
const FOUR_STREAMS: usize = 256;

/// Cuts blocks; holds the memory for it.
#[derive(Debug, Default)]
pub(crate) struct Cutter {
    literals: Vec<u8>,
    streams: Vec<u8>,
    /// The shortened block.
    pub(crate) block: Vec<u8>,
}

/// A block read as far as needed to cut it.
struct Parts<'a> {
    literals: Literals<'a>,
    sequences: Sequences<'a>,
    tables: Tables,
}

/// Where to cut.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    sequences: usize,
    /// Bits of the sequences' stream that are left out.
    skipped: usize,
    /// Content bytes.
    content: usize,
    /// Bits of the coded literals.
    literal_bits: usize,
}

impl<'a> Parts<'a> {
    /// Reads `block`, which follows the blocks `earlier` of its frame.
    fn read(block: &'a [u8], earlier: &[u8]) -> Option<Self> {
        // Most blocks bring all their tables.
        Self::read_after(block, Tables::default())
            .or_else(|| Self::read_after(block, Tables::after(earlier)?))
    }

    fn read_after(block: &'a [u8], mut tables: Tables) -> Option<Self> {
        let (literals, after) = Literals::read(block, &mut tables)?;
        let sequences = Sequences::read(after, &mut tables)?;
        Some(Self { literals, sequences, tables })
    }

    /// The codes of the literals, if they are coded.
    fn codes(&self) -> Option<&Codes> {
        let coded = matches!(self.literals.coding, Coding::Coded | Coding::Treeless);
        self.tables.codes.as_ref().filter(|_| coded)
    }

    /// Most bytes of the block that ends at `place` with `literals` literals.
    fn price(&self, place: &Place, literals: usize) -> usize {
        let stream = (self.sequences.stream.len() * 8 - place.skipped).div_ceil(8);
        let sequences = match place.sequences {
            0 => 1,
            1..=127 => 1 + self.sequences.head.len() + stream,
            128..0x7F00 => 2 + self.sequences.head.len() + stream,
            _ => 3 + self.sequences.head.len() + stream,
        };
        sequences + self.literal_price(literals, place.literal_bits).0
    }

    /// Most bytes of the literals section, and whether it is coded.
    fn literal_price(&self, count: usize, bits: usize) -> (usize, bool) {
        if self.literals.coding == Coding::Rle {
            return (raw_head(count) + 1, false);
        }
        let raw = raw_head(count) + count;
        let streams = if count < FOUR_STREAMS { bits / 8 + 1 } else { 6 + bits / 8 + 4 };
        let body = self.literals.tree.len() + streams;
        let coded = coded_head(count, body) + body;
        if self.codes().is_some() && coded < raw { (coded, true) } else { (raw, false) }
    }
}

/// The number of content bytes of `block`, which follows the blocks `earlier` of its frame.
pub(crate) fn content(block: &[u8], earlier: &[u8]) -> Option<usize> {
    let parts = Parts::read(block, earlier)?;
    let mut content = parts.literals.count;
    if parts.sequences.count > 0 {
        let mut walk = Walk::new(&parts.sequences, &parts.tables)?;
        content += walk.read()?.matched;
        for _ in 1..parts.sequences.count {
            walk.advance()?;
            content += walk.read()?.matched;
        }
    }
    Some(content)
}

impl Cutter {
    /// Makes of `block` a block of at most `room` bytes, without its header, that holds the beginning
    /// of `content`; the number of content bytes it holds.
    ///
    /// `earlier` are the blocks of the frame before it.
    pub(crate) fn cut(
        &mut self,
        block: &[u8],
        earlier: &[u8],
        content: &[u8],
        room: usize,
    ) -> Option<usize> {
        let parts = Parts::read(block, earlier)?;
        let place = self.walk(&parts, content, room)?;
        self.block.clear();
        self.write_literals(&parts, &place);
        self.write_sequences(&parts, &place);
        (self.block.len() <= room && place.content > 0).then_some(place.content)
    }

    /// Finds the last place whose block fits `room`, and gathers the literals before it.
    fn walk(&mut self, parts: &Parts<'_>, content: &[u8], room: usize) -> Option<Place> {
        self.literals.clear();
        let mut place = Place { skipped: parts.sequences.stream.len() * 8, ..Place::default() };
        let count = parts.sequences.count;
        let mut walk =
            if count > 0 { Some(Walk::new(&parts.sequences, &parts.tables)?) } else { None };
        while let Some(walk) = walk.as_mut().filter(|_| place.sequences < count) {
            if place.sequences > 0 {
                walk.advance()?;
            }
            let sequence = walk.read()?;
            let run = content.get(place.content..)?.get(..sequence.run)?;
            let next = Place {
                sequences: place.sequences + 1,
                skipped: walk.bits.left(),
                content: place.content + sequence.run + sequence.matched,
                literal_bits: place.literal_bits + bits(parts.codes(), run),
            };
            if parts.price(&next, self.literals.len() + run.len()) > room {
                self.take_run(parts, &mut place, run, room);
                return Some(place);
            }
            self.literals.extend_from_slice(run);
            place = next;
        }
        let left = parts.literals.count.checked_sub(self.literals.len())?;
        let run = content.get(place.content..)?.get(..left)?;
        self.take_run(parts, &mut place, run, room);
        Some(place)
    }

    /// Adds as many literals of `run` as fit.
    fn take_run(&mut self, parts: &Parts<'_>, place: &mut Place, run: &[u8], room: usize) {
        let (mut rest, mut step) = (run, run.len().next_power_of_two());
        while step > 0 {
            if let Some((literals, after)) = rest.split_at_checked(step) {
                let next = Place {
                    content: place.content + step,
                    literal_bits: place.literal_bits + bits(parts.codes(), literals),
                    ..*place
                };
                if parts.price(&next, self.literals.len() + step) <= room {
                    self.literals.extend_from_slice(literals);
                    *place = next;
                    rest = after;
                }
            }
            step /= 2;
        }
    }

    fn write_literals(&mut self, parts: &Parts<'_>, place: &Place) {
        let count = self.literals.len();
        let (_, worthwhile) = parts.literal_price(count, place.literal_bits);
        let Some(codes) = parts.codes().filter(|_| worthwhile) else {
            let rle = parts.literals.coding == Coding::Rle && count > 0;
            push_raw_head(&mut self.block, count, rle);
            let stored = if rle { 1 } else { count };
            self.block
                .extend_from_slice(self.literals.get(..stored).expect("no more than there are"));
            return;
        };
        self.streams.clear();
        self.streams.extend_from_slice(parts.literals.tree);
        let four = count >= FOUR_STREAMS;
        if four {
            self.write_streams(codes);
        } else {
            codes.write(&self.literals, &mut self.streams);
        }
        let size = self.streams.len();
        let kind = if parts.literals.coding == Coding::Treeless { 3 } else { 2 };
        let (head, form, shift) = match coded_head(count, size) {
            3 if four => (3, 1, 14),
            3 => (3, 0, 14),
            4 => (4, 2, 18),
            _ => (5, 3, 22),
        };
        let word = kind | form << 2 | (count as u64) << 4 | (size as u64) << shift;
        self.block.extend_from_slice(
            word.to_le_bytes().get(..head).expect("a head has at most five bytes"),
        );
        self.block.extend_from_slice(&self.streams);
    }

    /// Writes four streams of the same number of literals, the last one fewer, and before them the
    /// lengths of the first three.
    fn write_streams(&mut self, codes: &Codes) {
        let table = self.streams.len();
        self.streams.extend_from_slice(&[0; 6]);
        for (index, quarter) in self.literals.chunks(self.literals.len().div_ceil(4)).enumerate() {
            let start = self.streams.len();
            codes.write(quarter, &mut self.streams);
            let [low, high, ..] = (self.streams.len() - start).to_le_bytes();
            let at = table + 2 * index;
            if let Some(entry) = self.streams.get_mut(at..at + 2).filter(|_| index < 3) {
                entry.copy_from_slice(&[low, high]);
            }
        }
    }

    fn write_sequences(&mut self, parts: &Parts<'_>, place: &Place) {
        let [low, high, ..] = place.sequences.to_le_bytes();
        match place.sequences {
            0 => return self.block.push(0),
            1..=127 => self.block.push(low),
            128..0x7F00 => self.block.extend_from_slice(&[high + 128, low]),
            count => {
                let [low, high, ..] = (count - 0x7F00).to_le_bytes();
                self.block.extend_from_slice(&[255, low, high]);
            }
        }
        self.block.extend_from_slice(parts.sequences.head);
        shifted(parts.sequences.stream, place.skipped, &mut self.block);
    }
}

/// Bits of `run` when coded.
fn bits(codes: Option<&Codes>, run: &[u8]) -> usize {
    codes.map_or(0, |codes| run.iter().map(|&literal| codes.len(literal)).sum())
}

/// Length of the head of a literals section that stores `count` literals or repeats one.
fn raw_head(count: usize) -> usize {
    match count {
        0..32 => 1,
        32..4096 => 2,
        _ => 3,
    }
}

fn push_raw_head(block: &mut Vec<u8>, count: usize, rle: bool) {
    let kind = usize::from(rle);
    let head = raw_head(count);
    let word = match head {
        1 => count << 3 | kind,
        2 => count << 4 | 1 << 2 | kind,
        _ => count << 4 | 3 << 2 | kind,
    };
    block.extend_from_slice(word.to_le_bytes().get(..head).expect("a head has at most five bytes"));
}

/// Length of the head of a literals section of `count` literals coded in `size` bytes.
fn coded_head(count: usize, size: usize) -> usize {
    match count.max(size) {
        0..1024 => 3,
        1024..16384 => 4,
        _ => 5,
    }
}
