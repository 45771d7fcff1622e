//! Chooses the sequences that hold the most input in a given output.

use super::emit::{Block, Sequence, literals_within, match_price, match_within};
use super::finder::{Finder, MIN_MATCH};
use super::index::MAX_TEXT;
use super::nodes::{NODES, Nodes};
use super::place::Match;
use crate::Fit;

/// Literals that must end a block.
pub(crate) const LAST_LITERALS: usize = 5;
/// Bytes that must follow the start of any match, up to the block's end.
pub(crate) const MATCH_MARGIN: usize = 12;
/// Literals that make any match before them keep both rules.
const SAFE_LITERALS: usize = MATCH_MARGIN - MIN_MATCH;
/// Most literals that a token counts by itself.
const SHORT_RUN: usize = 14;
/// Most input bytes that one output byte can encode.
pub(crate) const MAX_RATIO: usize = 255;
/// Ends of matches to choose from at the end of the output.
const CUTS: usize = 16;

/// The input, and where searching it ends.
struct Scope<'a> {
    input: &'a [u8],
    /// Matches start before this.
    start_end: usize,
    /// Matches end here at the latest.
    match_end: usize,
}

impl<'a> Scope<'a> {
    fn new(input: &'a [u8], room: usize) -> Self {
        let most = room.saturating_mul(MAX_RATIO).saturating_add(MATCH_MARGIN);
        let input = input.get(..most.min(MAX_TEXT)).unwrap_or(input);
        let start_end = (input.len() + 1).saturating_sub(MATCH_MARGIN);
        Self { input, start_end, match_end: input.len().saturating_sub(LAST_LITERALS) }
    }
}

/// An island: positions that matches span without a gap, and a way over them.
struct Island {
    origin: usize,
    /// The node where the way ends, or from where a long match goes on.
    node: usize,
    tail: Option<Match>,
    /// The output is full before that.
    full: bool,
}

/// A way to end the block inside an island.
struct Cut {
    end: usize,
    node: usize,
    tail: Option<Match>,
}

/// What effort to make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Candidates compared in each search.
    tries: u32,
    /// A match this long is taken without further thought.
    nice: usize,
}

impl Effort {
    /// The effort of an `lz4hc` level from 10 to 12.
    pub(crate) const fn of_level(level: u8) -> Self {
        match level {
            ..=10 => Self { tries: 64, nice: 512 },
            11 => Self { tries: 512, nice: 1024 },
            12.. => Self { tries: 4096, nice: NODES },
        }
    }
}

/// An encoder whose sequences are the cheapest that the matches it finds allow.
#[derive(Debug)]
pub(crate) struct Optimal {
    finder: Finder,
    nodes: Nodes,
    path: Vec<Sequence>,
    nice: usize,
}

impl Optimal {
    pub(crate) fn new(effort: Effort) -> Self {
        let Effort { tries, nice } = effort;
        Self { finder: Finder::new(tries, nice), nodes: Nodes::new(), path: Vec::new(), nice }
    }

    /// Encodes the longest prefix of `input` that fits; `output` has 16 bytes or more.
    pub(crate) fn fill(&mut self, input: &[u8], output: &mut [u8]) -> Fit {
        let scope = Scope::new(input, output.len());
        self.finder.begin(scope.input, output.len().min(scope.input.len()));
        let mut block = Block::new(scope.input, output);
        while let Some((origin, first)) = self.next_match(&scope, &block) {
            let island = self.island(&scope, &block, origin, first);
            if island.full {
                self.cut(&scope, &mut block, &island);
                break;
            }
            self.push_way(&scope, &mut block, &island);
        }
        let consumed = scope.input.len().min(block.anchor() + literals_within(block.room() - 1));
        Fit { consumed, written: block.finish(consumed) }
    }

    /// The first place from the anchor on that has a match, if the output is not full before.
    fn next_match(&mut self, scope: &Scope<'_>, block: &Block<'_>) -> Option<(usize, Match)> {
        let anchor = block.anchor();
        let reach = anchor + literals_within(block.room() - 1) + 1;
        (anchor..reach.min(scope.start_end)).find_map(|at| {
            let found = self.finder.longest(scope.input, at, MIN_MATCH, scope.match_end)?;
            Some((at, found))
        })
    }

    /// Prices the positions from `origin`, where `first` matches, to the first that no match spans.
    fn island(
        &mut self,
        scope: &Scope<'_>,
        block: &Block<'_>,
        origin: usize,
        first: Match,
    ) -> Island {
        let limit = block.room().saturating_sub(1 + SAFE_LITERALS);
        let within = |price: u32| price as usize <= limit;
        self.nodes.begin(origin - block.anchor());
        let (mut node, mut found) = (0, Some(first));
        loop {
            let price = self.nodes.get(node).price;
            if !within(price) {
                return Island { origin, node: self.nodes.last(), tail: None, full: true };
            }
            if let Some(tail) = found {
                if tail.len >= self.nice || node + tail.len >= NODES {
                    let full = price as usize + match_price(tail.len) > limit;
                    return Island { origin, node, tail: Some(tail), full };
                }
                self.nodes.price_match(node, tail);
            }
            self.nodes.price_literal(node);
            node += 1;
            if node >= self.nodes.last() {
                let full = !within(self.nodes.get(node).price);
                return Island { origin, node, tail: None, full };
            }
            found = self.useful_match(scope, origin, node);
        }
    }

    /// The longest match at a node, if it lowers the price of a position.
    #[inline]
    fn useful_match(&mut self, scope: &Scope<'_>, origin: usize, node: usize) -> Option<Match> {
        if origin + node >= scope.start_end {
            return None;
        }
        let need = self.nodes.needed(node)?;
        self.finder.longest(scope.input, origin + node, need, scope.match_end)
    }

    /// Appends the matches of an island.
    fn push_way(&mut self, scope: &Scope<'_>, block: &mut Block<'_>, island: &Island) {
        self.path.clear();
        if let Some(Match { len, distance }) = island.tail {
            self.path.push(Sequence { start: island.origin + island.node, len, distance });
        }
        self.nodes.trace(island.origin, island.node, &mut self.path);
        while let Some(sequence) = self.path.pop() {
            self.split_run(scope, block, sequence.start);
            block.push(sequence);
        }
    }

    /// Where the literals up to `end` are one to three too many for their token, looks for a way at the
    /// same price with fewer: prices alone do not distinguish such ways.
    fn split_run(&mut self, scope: &Scope<'_>, block: &mut Block<'_>, end: usize) {
        let Some(held) = block.held() else { return };
        let excess = (end - held.end()).saturating_sub(SHORT_RUN);
        if (1..=3).contains(&excess) && !self.split_by_match(scope, block, held) {
            self.split_by_shift(scope, block, held, excess);
        }
    }

    /// Lets another match hold the first three literals and the end of the match before them.
    fn split_by_match(&mut self, scope: &Scope<'_>, block: &mut Block<'_>, held: Sequence) -> bool {
        (1..=3.min(held.len - MIN_MATCH)).any(|taken| {
            let (start, len) = (held.end() - taken, taken + 3);
            let Some(distance) = self.finder.repeat(scope.input, start, len) else {
                return false;
            };
            block.replace_held(Sequence { len: held.len - taken, ..held });
            block.push(Sequence { start, len, distance });
            true
        })
    }

    /// Replaces the match before the literals by one `least` to three bytes farther on.
    fn split_by_shift(
        &mut self,
        scope: &Scope<'_>,
        block: &mut Block<'_>,
        held: Sequence,
        least: usize,
    ) {
        let before = block.held_run();
        for start in held.start + least..=held.start + 3.min(SHORT_RUN.saturating_sub(before)) {
            if let Some(distance) = self.finder.repeat(scope.input, start, held.len) {
                block.replace_held(Sequence { start, distance, ..held });
                return;
            }
        }
    }

    /// Appends the matches of an island up to where the block can take in the most input.
    fn cut(&mut self, scope: &Scope<'_>, block: &mut Block<'_>, island: &Island) {
        let room = block.room() - 1;
        let tail = self.cut_tail(island, room);
        let nodes = (1..=island.node).rev();
        let cuts = nodes.filter_map(|node| self.cut_at(island.origin, node, room)).take(CUTS);
        let best = tail.into_iter().chain(cuts).max_by_key(|cut| cut.end);
        let literals_only = block.anchor() + literals_within(room);
        if let Some(Cut { node, tail, .. }) = best.filter(|cut| cut.end > literals_only) {
            self.push_way(scope, block, &Island { node, tail, ..*island });
        }
    }

    /// An end after the match that ends at `node`.
    fn cut_at(&self, origin: usize, node: usize, room: usize) -> Option<Cut> {
        let way = self.nodes.get(node);
        let room = room.checked_sub(way.price as usize)?;
        let end = end_after(origin + node, way.len as usize, room)?;
        (way.len > 0).then_some(Cut { end, node, tail: None })
    }

    /// An end after as much of the island's long match as fits.
    fn cut_tail(&self, island: &Island, room: usize) -> Option<Cut> {
        let tail = island.tail?;
        let room = room.checked_sub(self.nodes.get(island.node).price as usize)?;
        let len = tail.len.min(match_within(room.checked_sub(LAST_LITERALS)?)?);
        let match_end = island.origin + island.node + len;
        let end = end_after(match_end, len, room - match_price(len))?;
        Some(Cut { end, node: island.node, tail: Some(Match { len, ..tail }) })
    }
}

/// Where a block can end whose last match has `len` bytes up to `match_end`, when literals have
/// `room`; `None` if that is too near.
fn end_after(match_end: usize, len: usize, room: usize) -> Option<usize> {
    let literals = literals_within(room);
    (literals >= LAST_LITERALS && len + literals >= MATCH_MARGIN).then_some(match_end + literals)
}
