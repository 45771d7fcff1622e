//! Finds where the bytes of a text occurred before, by binary trees.

use super::finder::{BLOCK, Find, Found, LOAD, Long, Marks, Near, common, digits, hash, load};
use super::matches::Matches;
use super::model::Table;
use crate::ffi::prefetch::prefetch;

/// Fewest and most binary digits of the hashes of a tree's bytes.
const LEAST_BITS: u32 = 12;
const MOST_BITS: u32 = 20;

/// What effort to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Effort {
    /// A match this long is taken without looking for a better one.
    pub(super) nice: usize,
    /// Most candidates compared at each position.
    pub(super) depth: u32,
    /// Bytes that all positions of a tree have in common, 4 to 8; of fewer, only the last occurrence is found.
    pub(super) gram: u32,
}

/// Finds the nearest match of each length, by a binary tree for each hash of a few bytes.
///
/// The root of a tree is its newest position, and less and greater texts are on either side of each. A position that
/// comes in takes the root's place, and on the way down to where it would be found the tree is split in two.
#[derive(Debug)]
pub(super) struct Trees {
    effort: Effort,
    marks: Marks,
    near: Near,
    /// The marks of the newest positions by hash, which has so many binary digits.
    roots: Vec<u32>,
    bits: u32,
    /// The marks below each position: of a text that is less, and of one that is greater.
    ///
    /// What they hold from texts before is never reached.
    sons: Vec<[u32; 2]>,
    /// One less than the number of positions in a window, a power of two.
    mask: usize,
    long: Long,
}

impl Trees {
    pub(super) fn new(effort: Effort) -> Self {
        Self {
            effort,
            marks: Marks::default(),
            near: Near::new(),
            roots: Vec::new(),
            bits: 0,
            sons: Vec::new(),
            mask: 0,
            long: Long::default(),
        }
    }

    /// Where the root of the tree of these bytes is.
    #[inline]
    fn slot(&self, bytes: u64) -> usize {
        digits(hash(bytes, self.effort.gram), self.bits)
    }

    /// Makes `mark` the root of the tree of the bytes at a position; the mark of the one before.
    #[inline]
    fn replace_root(&mut self, text: &[u8], at: usize, mark: u32) -> u32 {
        let slot = self.slot(load(text, at));
        self.roots.get_mut(slot).map_or(0, |root| std::mem::replace(root, mark))
    }

    fn find_one(&mut self, text: &[u8], at: usize, root: u32, matches: &mut Matches) {
        let near = self.near.replace(load(text, at), self.marks.of(at));
        let limit = self.effort.nice.min(text.len() - at);
        let place = Place { text, at, limit };
        if self.long.spans(at) {
            self.descend(place, root, |_, _| ());
            return self.long.add_known(at, matches);
        }
        let mut found = Found::new(text, at, limit, matches);
        for near in near.into_iter().filter(|&near| near != root) {
            if let Some(earlier) = self.marks.within_reach(at, near) {
                found.try_earlier(earlier);
            }
        }
        self.descend(place, root, |earlier, len| found.add(earlier, len));
        self.long.end_position(found, self.effort.nice, self.marks.reach());
    }

    /// Enters a position as the root of its tree, and hands each candidate on the way, and how long it is the same, to
    /// `add`.
    #[inline]
    fn descend(&mut self, place: Place<'_>, root: u32, mut add: impl FnMut(usize, usize)) {
        let Place { text, at, limit } = place;
        let mut candidate = root;
        // Where the next text that is less, or greater, belongs, and what the last one has in common with this.
        let (mut less, mut greater) = ((self.node(at), LESS), (self.node(at), GREATER));
        let (mut less_len, mut greater_len) = (0, 0);
        for _ in 0..self.effort.depth {
            let Some(earlier) = self.marks.within_reach(at, candidate) else { break };
            let node = self.node(earlier);
            let [son_less, son_greater] = self.sons.get(node).copied().unwrap_or_default();
            let equal = less_len.min(greater_len);
            let len = equal + common(text, earlier + equal, at + equal, limit - equal);
            add(earlier, len);
            if len >= limit {
                // This one takes the place of the other.
                self.set_son(less, son_less);
                self.set_son(greater, son_greater);
                return;
            }
            if text.get(earlier + len) < text.get(at + len) {
                self.set_son(less, candidate);
                (less, less_len, candidate) = ((node, GREATER), len, son_greater);
            } else {
                self.set_son(greater, candidate);
                (greater, greater_len, candidate) = ((node, LESS), len, son_less);
            }
        }
        self.set_son(less, 0);
        self.set_son(greater, 0);
    }

    /// Where the sons of a position are.
    #[inline]
    const fn node(&self, at: usize) -> usize {
        at & self.mask
    }

    #[inline]
    fn set_son(&mut self, (node, side): (usize, usize), mark: u32) {
        if let Some(sons) = self.sons.get_mut(node) {
            *sons.entry_mut(side) = mark;
        }
    }
}

impl Find for Trees {
    fn begin(&mut self, len: usize, window: usize) {
        if self.marks.begin(len, window) {
            self.near.clear();
            self.roots.fill(0);
        }
        let nodes = window.next_power_of_two();
        self.mask = nodes - 1;
        if self.sons.len() < nodes {
            self.sons = vec![[0; 2]; nodes];
        }
        self.bits = nodes.ilog2().clamp(LEAST_BITS, MOST_BITS);
        if self.roots.len() < 1 << self.bits {
            self.roots = vec![0; 1 << self.bits];
        }
        self.long = Long::default();
    }

    fn long(&mut self) -> &mut Long {
        &mut self.long
    }

    fn find_block(&mut self, text: &[u8], start: usize, matches: &mut Matches) {
        let end = (start + BLOCK).min(text.len() + 1 - LOAD);
        let mut roots = [0; BLOCK];
        for at in start..end {
            let bytes = load(text, at);
            self.near.prefetch(bytes);
            prefetch(&self.roots, self.slot(bytes));
        }
        for (at, root) in (start..end).zip(&mut roots) {
            let mark = self.marks.enter(at);
            *root = self.replace_root(text, at, mark);
            if let Some(earlier) = self.marks.within_reach(at, *root) {
                prefetch(&self.sons, self.node(earlier));
                prefetch(text, earlier);
            }
        }
        for (at, root) in (start..end).zip(roots) {
            self.find_one(text, at, root, matches);
            if self.long.skips(at + 1) {
                let rest = roots.iter().zip(start..end).skip(at + 1 - start);
                for (&root, at) in rest.rev() {
                    self.replace_root(text, at, root);
                }
                return;
            }
        }
    }
}

/// The sides of a node.
const LESS: usize = 0;
const GREATER: usize = 1;

/// A position to find matches for, of at most `limit` bytes.
#[derive(Clone, Copy)]
struct Place<'a> {
    text: &'a [u8],
    at: usize,
    limit: usize,
}

#[cfg(test)]
mod tests {
    use super::super::finder::tests::{all, check};
    use super::*;

    const EFFORT: Effort = Effort { nice: 40, depth: 16, gram: 5 };
    const TEXT: &[u8] = b"abcdefgh abcdefxx abcdefgh abXabcdeYabcdefgh and no more of this text";

    #[test]
    fn the_nearest_match_of_each_length_is_found() {
        let found = all(TEXT, &mut Trees::new(EFFORT), 4096);
        assert_eq!(found[..9], vec![vec![]; 9]);
        let lens =
            |at: usize| found[at].iter().map(|m| (m.len, m.distance + 1)).collect::<Vec<_>>();
        assert_eq!(lens(9), [(6, 9)]);
        assert_eq!(lens(18), [(6, 9), (11, 18)]);
        assert_eq!(lens(36), [(5, 6), (10, 18)]);
    }

    #[test]
    fn matches_are_found() {
        check(&mut Trees::new(Effort { nice: 8, ..EFFORT }), 8);
        check(&mut Trees::new(Effort { nice: 273, ..EFFORT }), 273);
    }
}
