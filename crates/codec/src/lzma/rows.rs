//! Finds the last occurrences of a few bytes, by a row of them for each hash.
//!
//! All that is looked up lies where hashes say, so it comes from memory ahead of its use. A position has a row in each of
//! several tables: in one of few bytes are near matches, in one of more bytes those that are long.

use super::finder::{BLOCK, Find, Found, LOAD, Long, MARK_BITS, Marks, Near, digits, hash, load};
use super::matches::{Match, Matches};
use super::model::Table;
use crate::ffi::prefetch::prefetch;
use crate::lz4opt::narrow;

/// Positions of a row.
const WAYS: usize = 8;
/// Binary digits of the number of a table's positions at most.
const MOST_BITS: u32 = 21;
/// Most tables, for the candidates of a position to have a power of two.
const MOST_TABLES: usize = 4;

/// What effort to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Effort<const TABLES: usize> {
    /// A match this long is taken without looking for a better one.
    pub(super) nice: usize,
    /// Bytes that all positions of a row have in common, 4 to 16, by table.
    pub(super) grams: [u32; TABLES],
}

/// The marks of the last positions with the same hash, the newest one first, each with more of its hash above it.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Row([u32; WAYS]);

const EMPTY: Row = Row([0; WAYS]);

/// Where a position belongs in a table, and what tells it from others there.
#[derive(Clone, Copy, Debug, Default)]
struct Key {
    row: usize,
    tag: u32,
}

#[derive(Debug)]
struct Occurrences {
    rows: Vec<Row>,
    /// Binary digits of the number of rows that the text uses.
    bits: u32,
    gram: u32,
}

impl Occurrences {
    const fn new(gram: u32) -> Self {
        Self { rows: Vec::new(), bits: 0, gram }
    }

    fn begin(&mut self, window: usize) {
        self.bits = window.next_power_of_two().ilog2().min(MOST_BITS) - WAYS.ilog2();
        if self.rows.len() < 1 << self.bits {
            self.rows = vec![EMPTY; 1 << self.bits];
        }
    }

    /// The key of a position with these sixteen bytes.
    #[inline]
    fn key(&self, [bytes, more]: [u64; 2]) -> Key {
        let hash = match self.gram {
            gram @ ..=8 => hash(bytes, gram),
            gram => hash(bytes ^ hash(more, gram - 8) >> 23, 8),
        };
        let tag = hash << self.bits >> (64 - 8);
        let tag = u32::try_from(tag).unwrap_or(0) << MARK_BITS;
        Key { row: digits(hash, self.bits), tag }
    }

    /// Enters the mark of a position; those that were there, and a bit set for each with the same tag.
    #[inline]
    fn replace(&mut self, key: Key, mark: u32) -> ([u32; WAYS], u32) {
        let Some(Row(row)) = self.rows.get_mut(key.row) else { return Default::default() };
        let old = row.map(|cell| cell ^ key.tag);
        row.copy_within(..WAYS - 1, 1);
        let [newest, ..] = row;
        *newest = mark | key.tag;
        let same = old
            .iter()
            .zip(0..)
            .fold(0, |same, (&cell, at)| same | u32::from(cell >> MARK_BITS == 0) << at);
        (old, same)
    }
}

/// The positions that a position is compared with.
#[derive(Clone, Copy, Debug)]
struct Candidates {
    near: [u32; 3],
    count: usize,
    earlier: [u32; MOST_TABLES * WAYS],
}

impl Candidates {
    const NONE: Self = Self { near: [0; 3], count: 0, earlier: [0; MOST_TABLES * WAYS] };
}

/// Finds matches among the last occurrences.
#[derive(Debug)]
pub(super) struct LastOccurrences<const TABLES: usize> {
    nice: usize,
    marks: Marks,
    near: Near,
    tables: [Occurrences; TABLES],
    long: Long,
}

impl<const TABLES: usize> LastOccurrences<TABLES> {
    pub(super) fn new(effort: Effort<TABLES>) -> Self {
        const { assert!(TABLES <= MOST_TABLES) };
        Self {
            nice: effort.nice,
            marks: Marks::default(),
            near: Near::new(),
            tables: effort.grams.map(Occurrences::new),
            long: Long::default(),
        }
    }

    /// The keys of a position, whose rows start to come from memory.
    #[inline]
    fn keys(&self, text: &[u8], at: usize) -> [Key; TABLES] {
        let bytes = [load(text, at), load(text, at + LOAD)];
        self.near.prefetch(load(text, at));
        let mut keys = [Key::default(); TABLES];
        for (table, key) in self.tables.iter().zip(&mut keys) {
            *key = table.key(bytes);
            prefetch(&table.rows, key.row);
        }
        keys
    }

    /// Enters a position, and collects its candidates, whose texts start to come from memory.
    #[inline]
    fn collect(
        &mut self,
        text: &[u8],
        at: usize,
        keys: [Key; TABLES],
        candidates: &mut Candidates,
    ) {
        let mark = self.marks.enter(at);
        candidates.near = self.near.replace(load(text, at), mark);
        let mut farthest = at;
        for (table, key) in self.tables.iter_mut().zip(keys) {
            let (old, mut same) = table.replace(key, mark);
            while same != 0 {
                let &old = old.entry(same.trailing_zeros() as usize);
                same &= same - 1;
                let Some(earlier) = self.marks.within_reach(at, old) else { break };
                // Nearer ones were in the rows before.
                if earlier < farthest {
                    prefetch(text, earlier);
                    *candidates.earlier.entry_mut(candidates.count) = narrow(earlier);
                    candidates.count += 1;
                    farthest = earlier;
                }
            }
        }
    }

    fn find_one(&mut self, text: &[u8], at: usize, candidates: &Candidates, matches: &mut Matches) {
        let before = matches.longest_before();
        let mut found = Found::new(text, at, self.nice, matches);
        for near in candidates.near {
            if let Some(earlier) = self.marks.within_reach(at, near) {
                found.try_earlier(earlier);
            }
        }
        for &earlier in candidates.earlier.iter().take(candidates.count) {
            found.try_earlier(earlier as usize);
        }
        // The match of the position before goes on here, though it may no longer be in any row.
        if let Some(Match { len, distance }) = before
            && len > found.longest.len + 1
        {
            found.try_earlier(at - distance as usize - 1);
        }
        self.long.end_position(found, self.nice, self.marks.reach());
    }
}

impl<const TABLES: usize> Find for LastOccurrences<TABLES> {
    fn begin(&mut self, len: usize, window: usize) {
        if self.marks.begin(len, window) {
            self.near.clear();
            self.tables.iter_mut().for_each(|table| table.rows.fill(EMPTY));
        }
        self.tables.iter_mut().for_each(|table| table.begin(window));
        self.long = Long::default();
    }

    fn long(&mut self) -> &mut Long {
        &mut self.long
    }

    fn find_block(&mut self, text: &[u8], start: usize, matches: &mut Matches) {
        let end = (start + BLOCK).min(text.len() + 1 - LOAD);
        let mut keys = [[Key::default(); TABLES]; BLOCK];
        for (at, keys) in (start..end).zip(&mut keys) {
            *keys = self.keys(text, at);
        }
        let mut candidates = [Candidates::NONE; BLOCK];
        for ((at, keys), candidates) in (start..end).zip(keys).zip(&mut candidates) {
            self.collect(text, at, keys, candidates);
        }
        for (at, candidates) in (start..end).zip(&candidates) {
            if self.long.spans(at) {
                self.long.add_known(at, matches);
            } else {
                self.find_one(text, at, candidates, matches);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::finder::tests::check;
    use super::*;

    #[test]
    fn matches_are_found() {
        check(&mut LastOccurrences::new(Effort { nice: 32, grams: [5, 12] }), 32);
        check(&mut LastOccurrences::new(Effort { nice: 100, grams: [4, 8, 16] }), 100);
    }
}
