//! Computes the cheapest way to each position near by.

use super::emit::{Sequence, literals_price, match_price};
use super::finder::MIN_MATCH;
use super::index::narrow;
use super::place::Match;

/// Positions priced before a way must be chosen.
pub(super) const NODES: usize = 4096;

/// The longest match with the lowest price.
const CHEAP_MATCH: usize = 18;

/// The cheapest known way to one position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// Bytes since the last match that is settled.
    pub(super) price: u32,
    /// Literals since the last match.
    run: u32,
    /// Bytes of the match that ends here; 0 if a literal does.
    pub(super) len: u32,
    distance: u32,
}

const UNREACHED: Node = Node { price: u32::MAX / 2, run: 0, len: 0, distance: 0 };

/// The positions from an origin on, up to the last one that a match reaches.
///
/// Prices never fall from a position to the next, but for the odd byte of a long run. That makes
/// most work unnecessary: only a match that reaches farther than its price does so far is a gain.
#[derive(Debug)]
pub(super) struct Nodes {
    table: Box<[Node]>,
    last: usize,
    /// How far the price of a short match is reached anyhow.
    reach: usize,
}

impl Nodes {
    pub(super) fn new() -> Self {
        let table = vec![UNREACHED; NODES + MIN_MATCH].into_boxed_slice();
        Self { table, last: 0, reach: 0 }
    }

    /// Starts at an origin that `run` literals lead to.
    pub(super) fn begin(&mut self, run: usize) {
        (self.last, self.reach) = (0, 0);
        let price = narrow(literals_price(run));
        self.set(0, Node { price, run: narrow(run), len: 0, distance: 0 });
    }

    /// The farthest position reached.
    pub(super) const fn last(&self) -> usize {
        self.last
    }

    #[inline]
    pub(super) fn get(&self, at: usize) -> Node {
        self.table.get(at).copied().unwrap_or(UNREACHED)
    }

    #[inline]
    fn set(&mut self, at: usize, node: Node) {
        if let Some(slot) = self.table.get_mut(at) {
            *slot = node;
        }
    }

    /// How long must a match at `at` be to lower the price of a position? `None` if the next
    /// position is no dearer: what could start here can as well start there.
    #[inline]
    pub(super) fn needed(&mut self, at: usize) -> Option<usize> {
        let price = self.get(at).price;
        if self.get(at + 1).price <= price {
            return None;
        }
        self.reach = self.last_within(price + 3, self.reach.max(at + MIN_MATCH - 1));
        if self.reach < at + CHEAP_MATCH {
            return Some(self.reach + 1 - at);
        }
        Some(self.last_within(price + 4, self.reach) + 1 - at)
    }

    /// The last position from `from` on that costs no more than `price`, or `from`.
    #[inline]
    fn last_within(&self, price: u32, from: usize) -> usize {
        let mut at = from;
        while at < self.last && self.get(at + 1).price <= price {
            at += 1;
        }
        at
    }

    /// Prices what a match at `at` reaches, from its end back to where it is no gain.
    #[inline]
    pub(super) fn price_match(&mut self, at: usize, found: Match) {
        let base = self.get(at).price;
        for between in self.last + 1..at + MIN_MATCH {
            self.set(between, UNREACHED);
        }
        let mut len = found.len;
        while len >= MIN_MATCH {
            let price = base + narrow(match_price(len));
            if at + len > self.last || price < self.get(at + len).price {
                let node =
                    Node { price, run: 0, len: narrow(len), distance: narrow(found.distance) };
                self.set(at + len, node);
                len -= 1;
            } else if len > CHEAP_MATCH {
                len = CHEAP_MATCH;
            } else {
                break;
            }
        }
        self.last = self.last.max(at + found.len);
    }

    /// Prices the position after `at` as a literal.
    #[inline]
    pub(super) fn price_literal(&mut self, at: usize) {
        let Node { price, run, .. } = self.get(at);
        let longer = run >= 14 && (run - 14).is_multiple_of(255);
        let price = price + 1 + u32::from(longer);
        if price < self.get(at + 1).price {
            self.set(at + 1, Node { price, run: run + 1, len: 0, distance: 0 });
        }
    }

    /// Appends the matches on the way to `at` to `path`, last one first.
    pub(super) fn trace(&self, origin: usize, mut at: usize, path: &mut Vec<Sequence>) {
        while at > 0 {
            let Node { run, len, distance, .. } = self.get(at);
            if len == 0 {
                at -= at.min(run as usize);
            } else {
                at -= at.min(len as usize);
                path.push(Sequence {
                    start: origin + at,
                    len: len as usize,
                    distance: distance as usize,
                });
            }
        }
    }
}
