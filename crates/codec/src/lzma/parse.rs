//! Chooses the symbols for the next stretch of text such that they cost least.

use super::finder::{Find, common};
use super::matches::{Match, Matches};
use super::model::{MAX_MATCH, MIN_MATCH, Table};
use super::price::{
    Price, Prices, UNREACHED, bit_price, literal_price, literal_price_beside, rep_price,
};
use super::symbol::{Code, Past, Stream, Symbol, length_state};
use crate::lz4opt::narrow;

/// Positions that are priced, with those that a step from the last one reaches, and where a way is chosen.
const NODES: usize = 4096;
const LAST_NODE: usize = NODES - 2 * MAX_MATCH - 2;
/// Positions whose matches are found at once.
const AHEAD: usize = 32;
/// The shortest length by which the price of a distance is no longer distinguished.
const LONG: usize = 5;

/// The last step to a position: one symbol, or up to three of which the last one repeats the distance.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// Bytes of all its symbols.
    len: u16,
    /// Bytes of the first one, if a literal and a match at its distance follow it; 1 if it is a literal, which a match at the
    /// last distance follows; 0 if it is the only one.
    first: u16,
}

impl Step {
    /// A step of one symbol.
    #[inline]
    const fn of(len: usize) -> Self {
        Self { len: short(len), first: 0 }
    }
}

/// A length of a step, which is below 2^16.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "a step has at most two matches and a literal")]
const fn short(len: usize) -> u16 {
    len as u16
}

/// A text whose matches are found as they are needed.
#[derive(Debug)]
pub(super) struct Source<'a, F> {
    pub(super) text: &'a [u8],
    pub(super) finder: &'a mut F,
    pub(super) matches: &'a mut Matches,
}

impl<F: Find> Source<'_, F> {
    #[inline]
    fn matches(&mut self, at: usize) -> &[Match] {
        if at >= self.matches.end() {
            self.finder.find(self.text, at + AHEAD, self.matches);
        }
        self.matches.at(at)
    }
}

/// Chooses symbols.
#[derive(Debug)]
pub(super) struct Parser {
    /// What the cheapest way to each position costs, its last step and the first symbol of that, and what precedes the
    /// position on it.
    prices: Box<[Price; NODES]>,
    steps: Box<[Step; NODES]>,
    codes: Box<[Code; NODES]>,
    pasts: Box<[Past; NODES]>,
    /// The farthest position reached.
    end: usize,
    /// A match this long is taken without looking for a better way.
    nice: usize,
    way: Vec<Symbol>,
}

/// A position, what precedes it, and by what its symbols are priced.
struct Here<'a> {
    text: &'a [u8],
    stream: &'a Stream<'a>,
    prices: &'a Prices,
    at: usize,
    node: usize,
    past: Past,
    position_state: usize,
    /// The longest match that is considered.
    most: usize,
}

impl Here<'_> {
    /// The byte that lies a distance before another one; zero before the beginning.
    #[inline]
    fn byte_before(&self, at: usize, distance: u32) -> u8 {
        let earlier = at.checked_sub(distance as usize + 1);
        earlier.and_then(|earlier| self.text.get(earlier)).copied().unwrap_or(0)
    }

    /// How long a match at a distance is, `after` bytes past the position.
    #[inline]
    fn common(&self, after: usize, distance: u32) -> usize {
        let at = self.at + after;
        let most = self.text.len().saturating_sub(at).min(self.most);
        let earlier = at.checked_sub(distance as usize + 1);
        earlier.map_or(0, |earlier| common(self.text, earlier, at, most))
    }

    /// The price of a literal `after` bytes past the position.
    #[inline]
    fn literal(&self, after: usize, past: &Past) -> Price {
        let at = self.at + after;
        let byte = self.text.get(at).copied().unwrap_or(0);
        let table = self.stream.literals.at(at, self.byte_before(at, 0));
        if past.state.follows_literal() {
            literal_price(table, byte)
        } else {
            let [distance, ..] = past.reps;
            literal_price_beside(table, byte, self.byte_before(at, distance))
        }
    }

    /// The price of saying `after` bytes past the position whether there is a match.
    #[inline]
    fn is_match(&self, after: usize, past: &Past, bit: u32) -> Price {
        let position_state = self.stream.position_state(self.at + after);
        let is_match = &self.stream.model.is_match;
        bit_price(*is_match.entry(past.state.index()).entry(position_state), bit)
    }

    /// The price of saying whether a match has one of the last distances.
    #[inline]
    fn is_rep(&self, past: &Past, bit: u32) -> Price {
        bit_price(*self.stream.model.is_rep.entry(past.state.index()), bit)
    }

    /// The price of a match at the last distance, `after` bytes past the position.
    fn rep0(&self, after: usize, past: &Past, len: usize) -> Price {
        let position_state = self.stream.position_state(self.at + after);
        let lengths = self.prices.rep_lengths.at(position_state);
        self.is_match(after, past, 1)
            + self.is_rep(past, 1)
            + rep_price(&self.stream.model, past.state, position_state, 0)
            + lengths.get(len - MIN_MATCH).copied().unwrap_or(UNREACHED)
    }
}

impl Parser {
    #[expect(
        clippy::large_stack_arrays,
        reason = "boxed at once, and a thread's stack is large enough"
    )]
    pub(super) fn new(nice: usize) -> Self {
        Self {
            prices: Box::new([UNREACHED; NODES]),
            steps: Box::new([Step::of(0); NODES]),
            codes: Box::new([Code::LITERAL; NODES]),
            pasts: Box::new([Past::START; NODES]),
            end: 0,
            nice,
            way: Vec::new(),
        }
    }

    /// Chooses the next symbols, the last one first.
    pub(super) fn parse(
        &mut self,
        source: &mut Source<'_, impl Find>,
        stream: &Stream<'_>,
        prices: &Prices,
    ) -> &mut Vec<Symbol> {
        self.way.clear();
        if let Some(symbol) = self.long_match(source, stream) {
            self.way.push(symbol);
        } else {
            let node = self.price_nodes(source, stream, prices);
            self.trace(node);
        }
        &mut self.way
    }

    /// A match that is so long that it is taken at once.
    fn long_match(
        &self,
        source: &mut Source<'_, impl Find>,
        stream: &Stream<'_>,
    ) -> Option<Symbol> {
        let (text, at) = (source.text, stream.at);
        let most = (text.len() - at).min(MAX_MATCH);
        let reps = (0..).zip(stream.past.reps).map(|(index, rep)| {
            let earlier = at.checked_sub(rep as usize + 1);
            (earlier.map_or(0, |earlier| common(text, earlier, at, most)), index)
        });
        let (rep_len, rep) = reps.max_by_key(|&(len, index)| (len, std::cmp::Reverse(index)))?;
        let far = source.matches(at).last().map(|far| (far.len as usize, Code::far(far.distance)));
        let (len, code) = far
            .filter(|&(len, _)| rep_len < self.nice || len > rep_len + 1)
            .unwrap_or((rep_len, Code::rep(rep)));
        (len >= self.nice).then_some(Symbol { len: narrow(len), code })
    }

    /// Prices positions from the stream's end on, up to one that no step spans or where a long match is; its node.
    fn price_nodes(
        &mut self,
        source: &mut Source<'_, impl Find>,
        stream: &Stream<'_>,
        prices: &Prices,
    ) -> usize {
        let text = source.text;
        self.end = 0;
        *self.prices.entry_mut(0) = 0;
        *self.pasts.entry_mut(0) = stream.past;
        for node in 0..LAST_NODE {
            let at = stream.at + node;
            if node > 0 {
                self.settle(node);
                if node == self.end {
                    return node;
                }
            }
            let found = source.matches(at);
            if node > 0 && found.last().is_some_and(|longest| longest.len as usize >= self.nice) {
                return node;
            }
            let past = *self.pasts.entry(node);
            let position_state = stream.position_state(at);
            let most = (text.len() - at).min(self.nice);
            let here = Here { text, stream, prices, at, node, past, position_state, most };
            self.price_node(&here, found);
        }
        self.settle(LAST_NODE);
        LAST_NODE
    }

    /// Computes what precedes a position on the cheapest way to it.
    #[inline]
    fn settle(&mut self, node: usize) {
        let (Step { len, first }, code) = (*self.steps.entry(node), *self.codes.entry(node));
        let past = *self.pasts.entry(node - usize::from(len));
        *self.pasts.entry_mut(node) = match first {
            0 => past.after(len.into(), code),
            1 => past.after(1, code).after((len - 1).into(), Code::REP0),
            _ => {
                let past = past.after(first.into(), code).after(1, Code::LITERAL);
                past.after((len - first - 1).into(), Code::REP0)
            }
        };
    }

    /// Notes the symbols on the way to a node.
    fn trace(&mut self, mut node: usize) {
        while node > 0 {
            let (Step { len, first }, code) = (*self.steps.entry(node), *self.codes.entry(node));
            match first {
                0 => self.way.push(Symbol { len: len.into(), code }),
                1 => self.way.push(Symbol { len: (len - 1).into(), code: Code::REP0 }),
                _ => {
                    self.way.push(Symbol { len: (len - first - 1).into(), code: Code::REP0 });
                    self.way.push(Symbol { len: 1, code: Code::LITERAL });
                }
            }
            if first > 0 {
                self.way.push(Symbol { len: first.into(), code });
            }
            node -= usize::from(len);
        }
    }

    /// Extends what is reached to `node`.
    #[inline]
    fn reach(&mut self, node: usize) {
        if node > self.end {
            let new = self.prices.get_mut(self.end + 1..=node).unwrap_or_default();
            new.fill(UNREACHED);
            self.end = node;
        }
    }

    /// Takes a step to a node that begins with a symbol of `code`, if it is cheaper than others.
    #[inline]
    fn offer(&mut self, node: usize, price: Price, step: Step, code: Code) {
        self.reach(node);
        if price < *self.prices.entry(node) {
            *self.prices.entry_mut(node) = price;
            *self.steps.entry_mut(node) = step;
            *self.codes.entry_mut(node) = code;
        }
    }

    /// Offers matches of the lengths from `least` on, of which `prices` are what each costs beyond `price`.
    #[inline]
    fn offer_lengths(&mut self, from: (usize, usize), price: Price, prices: &[Price], code: Code) {
        let (node, least) = from;
        let nodes = node + least..node + least + prices.len();
        self.reach(nodes.end.saturating_sub(1));
        let old_prices = self.prices.get_mut(nodes.clone()).unwrap_or_default();
        let old_steps = self.steps.get_mut(nodes.clone()).unwrap_or_default();
        let old_codes = self.codes.get_mut(nodes).unwrap_or_default();
        let old = old_prices.iter_mut().zip(old_steps).zip(old_codes);
        for ((((old, step), old_code), &more), len) in old.zip(prices).zip(short(least)..) {
            let new = price.wrapping_add(more);
            let is_cheaper = new < *old;
            *old = if is_cheaper { new } else { *old };
            *step = if is_cheaper { Step { len, first: 0 } } else { *step };
            *old_code = if is_cheaper { code } else { *old_code };
        }
    }

    fn price_node(&mut self, here: &Here<'_>, found: &[Match]) {
        let price = *self.prices.entry(here.node);
        self.price_literal(here, price);
        let price = price + here.is_match(0, &here.past, 1);
        let rep = price + here.is_rep(&here.past, 1);
        self.price_short_rep(here, rep);
        let least = self.price_reps(here, rep);
        self.price_matches(here, price + here.is_rep(&here.past, 0), found, least);
    }

    /// A literal, and perhaps a match at the last distance after it.
    fn price_literal(&mut self, here: &Here<'_>, price: Price) {
        let price = price + here.is_match(0, &here.past, 0) + here.literal(0, &here.past);
        self.offer(here.node + 1, price, Step::of(1), Code::LITERAL);
        let [distance, ..] = here.past.reps;
        let len = here.common(1, distance);
        // Where the literal is part of the match as well, that is better alone.
        if len >= MIN_MATCH && here.common(0, distance) == 0 {
            let price = price + here.rep0(1, &here.past.after(1, Code::LITERAL), len);
            let step = Step { len: short(1 + len), first: 1 };
            self.offer(here.node + 1 + len, price, step, Code::LITERAL);
        }
    }

    /// A single byte at the last distance.
    #[inline]
    fn price_short_rep(&mut self, here: &Here<'_>, price: Price) {
        let [distance, ..] = here.past.reps;
        if here.common(0, distance) == 0 {
            return;
        }
        let (model, state) = (&here.stream.model, here.past.state.index());
        let is_long = *model.is_rep0_long.entry(state).entry(here.position_state);
        let price = price + bit_price(*model.is_not_rep0.entry(state), 0) + bit_price(is_long, 0);
        self.offer(here.node + 1, price, Step::of(1), Code::REP0);
    }

    /// Matches at the last distances; the shortest length that one at another distance should have.
    fn price_reps(&mut self, here: &Here<'_>, price: Price) -> usize {
        let mut least = MIN_MATCH;
        let lengths = here.prices.rep_lengths.at(here.position_state);
        for (index, distance) in (0..).zip(here.past.reps) {
            let len = here.common(0, distance);
            let Some(lengths) = lengths.get(..(len + 1).saturating_sub(MIN_MATCH)) else {
                continue;
            };
            let Some(longest) = lengths.last() else { continue };
            let (state, code) = (here.past.state, Code::rep(index));
            let price = price + rep_price(&here.stream.model, state, here.position_state, index);
            self.offer_lengths((here.node, MIN_MATCH), price, lengths, code);
            self.price_after(here, price + longest, Symbol { len: narrow(len), code }, distance);
            if index == 0 {
                least = len + 1;
            }
        }
        least
    }

    /// Matches of `least` bytes or more at other distances.
    fn price_matches(&mut self, here: &Here<'_>, price: Price, found: &[Match], least: usize) {
        let lengths = here.prices.lengths.at(here.position_state);
        let mut least = least;
        for &Match { len, distance } in found {
            let end = len as usize + 1;
            let code = Code::far(distance);
            let mut longest = UNREACHED;
            while least < end {
                // One more at a time, as long as the price of the distance depends on the length.
                let next = if least < LONG { least + 1 } else { end };
                let prices = lengths.get(least - MIN_MATCH..next - MIN_MATCH).unwrap_or_default();
                let price = price + here.prices.distance(length_state(least), distance);
                self.offer_lengths((here.node, least), price, prices, code);
                longest = price + prices.last().copied().unwrap_or(0);
                least = next;
            }
            if longest < UNREACHED {
                self.price_after(here, longest, Symbol { len, code }, distance);
            }
        }
    }

    /// A literal and a match at the same distance, after a match that leads to `price`.
    #[inline]
    fn price_after(&mut self, here: &Here<'_>, price: Price, symbol: Symbol, distance: u32) {
        let len = symbol.len as usize;
        let behind = here.common(len + 1, distance);
        if behind < MIN_MATCH {
            return;
        }
        let past = here.past.after(symbol.len, symbol.code);
        let price = price + here.is_match(len, &past, 0) + here.literal(len, &past);
        let price = price + here.rep0(len + 1, &past.after(1, Code::LITERAL), behind);
        let step = Step { len: short(len + 1 + behind), first: short(len) };
        self.offer(here.node + len + 1 + behind, price, step, symbol.code);
    }
}
