//! Finds where the bytes of a text occurred before.

use super::matches::{Match, Matches};
use super::model::MAX_MATCH;
use crate::lz4opt::{eight_bytes, narrow};

/// Bytes that a search loads at once: nearer to the end of the text nothing is found.
const LOAD: usize = 8;
/// Binary digits of the hashes of two, three and four bytes.
const NEAR_BITS: [u32; 3] = [10, 15, 16];
/// Fewest and most of those of a tree's bytes.
const LEAST_BITS: u32 = 12;
const MOST_BITS: u32 = 20;
/// Positions whose trees are looked up at once.
const BLOCK: usize = 32;

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

/// For each hash of a few bytes the mark of the last position that had it.
///
/// A mark is one more than a position; zero marks none.
#[derive(Debug, Default)]
struct Heads {
    marks: Vec<u32>,
    /// Right shift that leaves the digits of the hash.
    shift: u32,
}

impl Heads {
    fn begin(&mut self, bits: u32) {
        self.marks.clear();
        self.marks.resize(1 << bits, 0);
        self.shift = u64::BITS - bits;
    }

    /// Enters the mark of a position with `bytes`, of which `count` are hashed; the mark that was there.
    #[inline]
    fn replace(&mut self, bytes: u64, count: u32, mark: u32) -> u32 {
        let hash =
            (bytes << (64 - 8 * count)).wrapping_mul(0x9E37_79B1_85EB_CA87) >> (self.shift & 63);
        let slot = usize::try_from(hash).ok().and_then(|hash| self.marks.get_mut(hash));
        slot.map_or(0, |slot| std::mem::replace(slot, mark))
    }
}

/// Finds the nearest match of each length, by a binary tree for each hash of a few bytes.
///
/// The root of a tree is its newest position, and less and greater texts are on either side of each. A position that
/// comes in takes the root's place, and on the way down to where it would be found the tree is split in two.
#[derive(Debug)]
pub(super) struct Finder {
    effort: Effort,
    near: [Heads; 3],
    roots: Heads,
    /// The marks below each position: of a text that is less, and of one that is greater.
    sons: Vec<u32>,
    /// Farthest that a match reaches back.
    reach: usize,
    /// Positions before this have the match of those before them, at one less than this distance.
    known: usize,
    distance: u32,
    /// Those before this are not entered, as their texts are found where they match.
    skipped: usize,
}

impl Finder {
    pub(super) fn new(effort: Effort) -> Self {
        Self {
            effort,
            near: Default::default(),
            roots: Heads::default(),
            sons: Vec::new(),
            reach: 0,
            known: 0,
            distance: 0,
            skipped: 0,
        }
    }

    /// Starts a text whose matches reach less than `window` bytes back, a power of two or rounded up to one.
    pub(super) fn begin(&mut self, window: usize) {
        let window_bits = window.next_power_of_two().ilog2();
        for (heads, bits) in self.near.iter_mut().zip(NEAR_BITS) {
            heads.begin(bits);
        }
        self.roots.begin(window_bits.clamp(LEAST_BITS, MOST_BITS));
        // What they hold from texts before is never reached.
        self.sons.resize(2 << window_bits, 0);
        self.reach = window - 1;
        (self.known, self.skipped) = (0, 0);
    }

    /// Finds the matches of the next positions, up to `end` or a few more, if the text has as many.
    pub(super) fn find(&mut self, text: &[u8], end: usize, matches: &mut Matches) {
        let end = end.min(text.len());
        while matches.end() < end {
            let at = matches.end();
            if at < self.skipped || at + LOAD > text.len() {
                self.add_known(at, matches);
            } else {
                self.find_block(text, at, matches);
            }
        }
    }

    fn find_block(&mut self, text: &[u8], start: usize, matches: &mut Matches) {
        let end = (start + BLOCK).min(text.len() + 1 - LOAD);
        let mut roots = [0; BLOCK];
        for (at, root) in (start..end).zip(&mut roots) {
            *root = self.replace_root(text, at, mark(at));
        }
        self.fetch(&roots);
        for (at, root) in (start..end).zip(roots) {
            self.find_one(text, at, root, matches);
            if at + 1 < self.skipped {
                let rest = roots.iter().zip(start..end).skip(at + 1 - start);
                for (&root, at) in rest.rev() {
                    self.replace_root(text, at, root);
                }
                return;
            }
        }
    }

    /// Makes `mark` the root of the tree of the bytes at a position; the mark of the one before.
    #[inline]
    fn replace_root(&mut self, text: &[u8], at: usize, mark: u32) -> u32 {
        self.roots.replace(load(text, at), self.effort.gram, mark)
    }

    /// Lets the sons of all these positions come from memory at once, where searches would wait for one after another.
    fn fetch(&self, roots: &[u32]) {
        let sons = roots.iter().filter_map(|&root| self.sons.get(self.node(position(root)?)));
        std::hint::black_box(sons.fold(0, |all, son| all ^ son));
    }

    fn find_one(&mut self, text: &[u8], at: usize, root: u32, matches: &mut Matches) {
        let bytes = load(text, at);
        let [two, three, four] = &mut self.near;
        let mark = mark(at);
        let near = [
            two.replace(bytes, 2, mark),
            three.replace(bytes, 3, mark),
            four.replace(bytes, 4, mark),
        ];
        let limit = self.effort.nice.min(text.len() - at);
        if at < self.known {
            self.descend(Place { text, at, limit }, root, |_| ());
            self.add_known(at, matches);
            return;
        }
        let mut best = Match { len: 1, distance: 0 };
        let mut add = |found: Match| {
            if found.len > best.len {
                best = found;
                matches.add(found);
            }
        };
        for (near, least) in near.into_iter().zip(2..) {
            let Some(earlier) = self.within_reach(at, near).filter(|_| near != root) else {
                continue;
            };
            let equal = (load(text, earlier) ^ bytes).trailing_zeros() / 8;
            if equal >= least {
                add(found(at, earlier, common(text, earlier, at, limit)));
            }
        }
        self.descend(Place { text, at, limit }, root, add);
        if best.len as usize >= self.effort.nice {
            self.know(text, at, best, matches);
        }
        matches.next();
    }

    /// Adds the match that a position has because one before it has, if there is one.
    fn add_known(&self, at: usize, matches: &mut Matches) {
        let len = self.known.saturating_sub(at).min(MAX_MATCH);
        if len > 1 {
            matches.add(Match { len: narrow(len), distance: self.distance });
        }
        matches.next();
    }

    /// Lengthens a long match as far as it goes, for it to be known at the positions that it spans.
    fn know(&mut self, text: &[u8], at: usize, best: Match, matches: &mut Matches) {
        let Match { distance, .. } = best;
        let back = distance as usize + 1;
        let len = common(text, at - back, at, text.len() - at);
        matches.lengthen_last(narrow(len.min(MAX_MATCH)));
        (self.known, self.distance) = (at + len, distance);
        // What is far back would soon be found nowhere.
        if back <= self.reach / 2 {
            self.skipped = at + len.saturating_sub(self.effort.nice);
        }
    }

    /// Enters a position as the root of its tree, and hands each candidate on the way to `found`.
    #[inline]
    fn descend(&mut self, place: Place<'_>, root: u32, mut add: impl FnMut(Match)) {
        let Place { text, at, limit } = place;
        let mut candidate = root;
        // Where the next text that is less, or greater, belongs, and what the last one has in common with this.
        let (mut less, mut greater) = (self.node(at), self.node(at) + 1);
        let (mut less_len, mut greater_len) = (0, 0);
        for _ in 0..self.effort.depth {
            let Some(earlier) = self.within_reach(at, candidate) else { break };
            let node = self.node(earlier);
            let [son_less, son_greater] = self.sons_of(node);
            let equal = less_len.min(greater_len);
            let len = equal + common(text, earlier + equal, at + equal, limit - equal);
            add(found(at, earlier, len));
            if len >= limit {
                // This one takes the place of the other.
                self.set_son(less, son_less);
                self.set_son(greater, son_greater);
                return;
            }
            if text.get(earlier + len) < text.get(at + len) {
                self.set_son(less, candidate);
                (less, less_len, candidate) = (node + 1, len, son_greater);
            } else {
                self.set_son(greater, candidate);
                (greater, greater_len, candidate) = (node, len, son_less);
            }
        }
        self.set_son(less, 0);
        self.set_son(greater, 0);
    }

    /// The position of a mark, if a match reaches back to it.
    #[inline]
    fn within_reach(&self, at: usize, mark: u32) -> Option<usize> {
        position(mark).filter(|earlier| at - earlier <= self.reach)
    }

    /// Where the sons of a position are.
    #[inline]
    fn node(&self, at: usize) -> usize {
        (2 * at) & self.sons.len().wrapping_sub(1)
    }

    #[inline]
    fn sons_of(&self, node: usize) -> [u32; 2] {
        let sons = self.sons.get(node..).and_then(<[u32]>::first_chunk);
        sons.copied().unwrap_or_default()
    }

    #[inline]
    fn set_son(&mut self, index: usize, mark: u32) {
        if let Some(son) = self.sons.get_mut(index) {
            *son = mark;
        }
    }
}

/// A position to find matches for, of at most `limit` bytes.
#[derive(Clone, Copy)]
struct Place<'a> {
    text: &'a [u8],
    at: usize,
    limit: usize,
}

#[inline]
const fn mark(at: usize) -> u32 {
    narrow(at) + 1
}

#[inline]
fn position(mark: u32) -> Option<usize> {
    (mark as usize).checked_sub(1)
}

#[inline]
const fn found(at: usize, earlier: usize, len: usize) -> Match {
    Match { len: narrow(len), distance: narrow(at - earlier - 1) }
}

/// Eight bytes, zero where the text is too short.
#[inline]
fn load(text: &[u8], at: usize) -> u64 {
    eight_bytes(text, narrow(at)).unwrap_or(0)
}

/// How many bytes from `late` on, at most `limit`, equal those from `early` on?
#[inline]
pub(super) fn common(text: &[u8], early: usize, late: usize, limit: usize) -> usize {
    let mut len = 0;
    let (early, late) = (narrow(early), narrow(late));
    let at = |base: u32, len: usize| base.wrapping_add(narrow(len));
    while let (Some(a), Some(b)) =
        (eight_bytes(text, at(early, len)), eight_bytes(text, at(late, len)))
    {
        if a != b {
            return limit.min(len + (a ^ b).trailing_zeros() as usize / 8);
        }
        len += LOAD;
        if len >= limit {
            return limit;
        }
    }
    let rest = |from: u32| text.get(from as usize..).unwrap_or_default().iter();
    let equal = rest(at(early, len)).zip(rest(at(late, len))).take_while(|(a, b)| a == b);
    limit.min(len + equal.count())
}

#[cfg(test)]
mod tests {
    use super::*;

    const EFFORT: Effort = Effort { nice: 40, depth: 16, gram: 5 };
    const TEXT: &[u8] = b"abcdefgh abcdefxx abcdefgh abXabcdeYabcdefgh and no more of this text";

    fn noise(count: usize) -> impl Iterator<Item = u8> {
        let next = |state: &u32| Some(state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        std::iter::successors(Some(1), next).map(|state| state.to_le_bytes()[3]).take(count)
    }

    fn all(text: &[u8], effort: Effort, window: usize) -> Vec<Vec<Match>> {
        let (mut finder, mut matches) = (Finder::new(effort), Matches::default());
        finder.begin(window);
        matches.begin();
        finder.find(text, text.len(), &mut matches);
        (0..text.len()).map(|at| matches.at(at).to_vec()).collect()
    }

    fn is_match(text: &[u8], at: usize, found: Match) -> bool {
        let earlier = at - found.distance as usize - 1;
        (0..found.len as usize).all(|index| text[earlier + index] == text[at + index])
    }

    #[test]
    fn the_nearest_match_of_each_length_is_found() {
        let found = all(TEXT, EFFORT, 4096);
        assert_eq!(found[..9], vec![vec![]; 9]);
        let lens =
            |at: usize| found[at].iter().map(|m| (m.len, m.distance + 1)).collect::<Vec<_>>();
        assert_eq!(lens(9), [(6, 9)]);
        assert_eq!(lens(18), [(6, 9), (11, 18)]);
        assert_eq!(lens(36), [(5, 6), (10, 18)]);
    }

    #[test]
    fn matches_are_equal_bytes_within_reach() {
        let text: Vec<u8> = noise(40_000).map(|byte| byte >> 6).collect();
        for (nice, window) in [(8, 4096), (40, 8192), (273, 65536)] {
            let found = all(&text, Effort { nice, ..EFFORT }, window);
            let count = found.iter().filter(|found| !found.is_empty()).count();
            assert!(count > 38_000, "{count} of {nice} and {window}");
            for (at, found) in found.iter().enumerate() {
                assert!(found.is_sorted_by_key(|found| found.len));
                for &found in found {
                    assert!((found.distance as usize) < window - 1 && is_match(&text, at, found));
                }
            }
        }
    }

    #[test]
    fn long_matches_are_known_at_each_position_that_they_span() {
        let unit: Vec<u8> = noise(500).collect();
        let text = [unit.as_slice(), b"!", &unit, &unit].concat();
        let found = all(&text, EFFORT, 4096);
        for (at, found) in found.iter().enumerate().take(1490).skip(501) {
            let end = if at < 1001 { 1001 } else { 1501 };
            let longest = found.last().map_or(1, |longest| longest.len as usize);
            assert!(longest >= EFFORT.nice.min(end - at), "{at}: {longest}");
        }
    }
}
