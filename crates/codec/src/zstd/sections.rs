//! Parses the sections of a compressed block.

use super::bits::Backward;
use super::fse::{State, Table};
use super::header::{Block, Kind};
use super::huffman::Codes;

/// The tables that a later block may use again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    pub(crate) codes: Option<Codes>,
    runs: Option<Table>,
    offsets: Option<Table>,
    matches: Option<Table>,
}

impl Tables {
    /// The tables in force after `blocks`, the beginning of a frame.
    pub(crate) fn after(mut blocks: &[u8]) -> Option<Self> {
        let mut tables = Self::default();
        while let Some((block, rest)) = Block::split(blocks) {
            if block.kind == Kind::Compressed {
                let (_, after) = Literals::read(block.stream, &mut tables)?;
                Sequences::read(after, &mut tables)?;
            }
            blocks = rest;
        }
        Some(tables)
    }
}

/// How literals are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Raw,
    Rle,
    /// Coded with the codes described here.
    Coded,
    /// Coded with the codes of an earlier block.
    Treeless,
}

/// The literals section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Literals<'a> {
    pub(crate) coding: Coding,
    /// How many there are.
    pub(crate) count: usize,
    /// The description of the codes.
    pub(crate) tree: &'a [u8],
}

impl<'a> Literals<'a> {
    /// Reads the section at the beginning of `block`; returns what follows it.
    ///
    /// `None` for what is damaged, and for codes of an earlier block that `tables` lacks.
    pub(crate) fn read(block: &'a [u8], tables: &mut Tables) -> Option<(Self, &'a [u8])> {
        let first = *block.first()?;
        let coding = match first & 3 {
            0 => Coding::Raw,
            1 => Coding::Rle,
            2 => Coding::Coded,
            _ => Coding::Treeless,
        };
        let form = first >> 2 & 3;
        let (head, field) = match (coding, form) {
            (Coding::Raw | Coding::Rle, 1) => (2, 12),
            (Coding::Raw | Coding::Rle, 3) => (3, 20),
            (Coding::Raw | Coding::Rle, _) => (1, 5),
            (_, 2) => (4, 14),
            (_, 3) => (5, 18),
            _ => (3, 10),
        };
        let word = super::bits::word(block.get(..head)?, 0);
        let mask = (1 << field) - 1;
        let (count, stored) = match coding {
            Coding::Raw | Coding::Rle if head == 1 => (word >> 3, None),
            Coding::Raw | Coding::Rle => (word >> 4, None),
            _ => (word >> 4 & mask, Some(word >> (4 + field) & mask)),
        };
        let count = usize::try_from(count).ok()?;
        let stored = match (coding, stored) {
            (_, Some(stored)) => usize::try_from(stored).ok()?,
            (Coding::Rle, _) => 1,
            _ => count,
        };
        let (body, after) = block.get(head..)?.split_at_checked(stored)?;
        let mut tree: &[u8] = &[];
        if coding == Coding::Coded {
            let (codes, used) = Codes::read(body)?;
            tables.codes = Some(codes);
            tree = body.get(..used)?;
        }
        let known = coding != Coding::Treeless || tables.codes.is_some();
        known.then_some((Self { coding, count, tree }, after))
    }
}

/// The sequences section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sequences<'a> {
    pub(crate) count: usize,
    /// The modes of the tables and their descriptions.
    pub(crate) head: &'a [u8],
    /// The sequences, read backward.
    pub(crate) stream: &'a [u8],
}

impl<'a> Sequences<'a> {
    /// Reads the section `bytes`; its tables, or those that it uses again, are in `tables` then.
    pub(crate) fn read(bytes: &'a [u8], tables: &mut Tables) -> Option<Self> {
        let (count, used) = match *bytes {
            [0, ..] => return Some(Self { count: 0, head: &[], stream: &[] }),
            [255, low, high, ..] => (usize::from(low) + (usize::from(high) << 8) + 0x7F00, 3),
            [high @ 128..=254, low, ..] => (usize::from(high - 128) << 8 | usize::from(low), 2),
            [count, ..] => (usize::from(count), 1),
            _ => return None,
        };
        let rest = bytes.get(used..)?;
        let modes = *rest.first()?;
        let mut at = 1;
        let kinds = [
            (6, RUNS, &mut tables.runs),
            (4, OFFSETS, &mut tables.offsets),
            (2, MATCHES, &mut tables.matches),
        ];
        for (shift, kind, slot) in kinds {
            let bytes = rest.get(at..)?;
            at += kind.read(modes >> shift & 3, bytes, slot)?;
        }
        let (head, stream) = rest.split_at_checked(at)?;
        Some(Self { count, head, stream })
    }
}

/// What the tables of one kind have in common.
struct TableKind {
    max_log: u32,
    log: u32,
    counts: &'static [i16],
}

const RUNS: TableKind = TableKind {
    max_log: 9,
    log: 6,
    counts: &[
        4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1,
        1, 1, -1, -1, -1, -1,
    ],
};
const OFFSETS: TableKind = TableKind {
    max_log: 8,
    log: 5,
    counts: &[
        1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1,
    ],
};
const MATCHES: TableKind = TableKind {
    max_log: 9,
    log: 6,
    counts: &[
        1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
    ],
};

impl TableKind {
    /// Puts the table of `mode` in `slot`; the length of its description.
    fn read(&self, mode: u8, bytes: &[u8], slot: &mut Option<Table>) -> Option<usize> {
        let (table, used) = match mode {
            0 => (Table::predefined(self.log, self.counts)?, 0),
            1 => (Table::rle(*bytes.first()?), 1),
            2 => Table::read(bytes, self.max_log)?,
            _ => return slot.is_some().then_some(0),
        };
        *slot = Some(table);
        Some(used)
    }
}

/// Literals, then a match.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sequence {
    pub(crate) run: usize,
    pub(crate) matched: usize,
}

/// A walk along the sequences of a block.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    pub(crate) bits: Backward<'a>,
    /// Literal runs, offsets, matches.
    tables: [&'a Table; 3],
    states: [State; 3],
}

impl<'a> Walk<'a> {
    /// Begins at the first of `sequences`, of which there must be one.
    pub(crate) fn new(sequences: &Sequences<'a>, tables: &'a Tables) -> Option<Self> {
        let mut bits = Backward::new(sequences.stream)?;
        let tables = [tables.runs.as_ref()?, tables.offsets.as_ref()?, tables.matches.as_ref()?];
        let mut states = [State::default(); 3];
        for (state, table) in states.iter_mut().zip(tables) {
            *state = table.state(bits.read(table.log)?)?;
        }
        Some(Self { bits, tables, states })
    }

    /// Reads the sequence here.
    #[inline]
    pub(crate) fn read(&mut self) -> Option<Sequence> {
        let [run, offset, matched] = self.states;
        self.bits.read(u32::from(offset.symbol.min(31)))?;
        let &(matched, bits) = MATCH_CODES.get(usize::from(matched.symbol))?;
        let matched = matched + self.bits.read(bits)?;
        let &(run, bits) = RUN_CODES.get(usize::from(run.symbol))?;
        let run = run + self.bits.read(bits)?;
        Some(Sequence { run: run as usize, matched: matched as usize })
    }

    /// Goes on to the next sequence.
    #[inline]
    pub(crate) fn advance(&mut self) -> Option<()> {
        for kind in [0, 2, 1] {
            let (table, state) = (self.tables.get(kind)?, self.states.get_mut(kind)?);
            let bits = self.bits.read(u32::from(state.bits))?;
            *state = table.state(u32::from(state.base) + bits)?;
        }
        Some(())
    }
}

/// Least value and further bits of each code of a literal run.
const RUN_CODES: [(u32, u32); 36] = code_values(
    0,
    [
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10,
        11, 12, 13, 14, 15, 16,
    ],
);
/// Least value and further bits of each code of a match length.
const MATCH_CODES: [(u32, u32); 53] = code_values(
    3,
    [
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
    ],
);

/// Each code begins where the one before it ends.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const fn code_values<const N: usize>(least: u32, bits: [u32; N]) -> [(u32, u32); N] {
    let mut values = [(0, 0); N];
    let (mut code, mut value) = (0, least);
    while code < N {
        values[code] = (value, bits[code]);
        value += 1 << bits[code];
        code += 1;
    }
    values
}
