//! Searches a text for matches, and chooses tokens as far as they fit.

use super::block::Histogram;
use super::estimate::block_bits;
use super::token::{MAX_MATCH, MIN_MATCH, Token, WINDOW};
use crate::lz4opt::narrow;

/// How many hashes there are of three and four bytes, and of five.
const SHORT: usize = 1 << 14;
const LONG: usize = 1 << 15;
/// Farthest distance: at that of the whole window, the slot of a link is overwritten.
const REACH: usize = WINDOW - 1;
/// Farthest distance at which a match of three bytes takes fewer bits than they do.
const SHORT_REACH: u32 = 4096;
/// Tokens whose bits are estimated together.
const GROUP: usize = 8192;
/// Positions are counted up to here, then from the beginning again.
const MAX_BASE: u32 = u32::MAX / 2;
/// The first text begins here, so that what no text has been entered at is out of reach.
const FIRST_BASE: u32 = 1 << 16;

/// How long is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Effort {
    /// Most candidates compared in each search.
    pub(super) tries: u32,
    /// A match this long is good enough.
    pub(super) nice: u32,
    /// Of how many following positions a better match is preferred, 0 to 2.
    pub(super) ahead: u32,
}

/// `len` bytes equal those `distance` before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Match {
    len: u32,
    distance: u32,
}

impl Match {
    const NONE: Self = Self { len: MIN_MATCH - 1, distance: 0 };

    /// Whether it takes fewer bits than its bytes.
    #[inline]
    const fn pays(self) -> bool {
        self.len > MIN_MATCH || (self.len == MIN_MATCH && self.distance <= SHORT_REACH)
    }

    /// Whether `later`, which begins after some literals, is better by more than `least` quarters of bytes.
    #[inline]
    const fn is_worse_than(self, later: Self, least: i32) -> bool {
        if later.len < self.len {
            return false;
        }
        let longer = 4 * (later.len - self.len).cast_signed();
        let nearer = self.distance.leading_zeros().cast_signed()
            - later.distance.leading_zeros().cast_signed();
        longer - nearer > least
    }
}

/// Where the same few bytes occurred before.
///
/// Positions are counted over all texts, so nothing is cleared between them. Of three and of four bytes only the last
/// occurrence is known, since farther ones save little; those of more bytes are linked.
#[derive(Debug)]
struct Finder {
    /// The newest position for each hash of three bytes, of four, and of five.
    short: Box<[u32; SHORT]>,
    middle: Box<[u32; SHORT]>,
    long: Box<[u32; LONG]>,
    /// For each position of the window, how far before it the last one of equal hash of five bytes is.
    links: Box<[u16; WINDOW]>,
    /// Position of the text's first byte.
    base: u32,
}

/// How far before a position the same three, four and five bytes may be.
struct Entered {
    short: u32,
    middle: u32,
    long: u32,
}

/// How far one search goes.
struct Limits {
    /// Most candidates compared.
    tries: u32,
    /// A match this long is good enough.
    nice: u32,
    /// No match can be longer.
    most: u32,
}

impl Finder {
    #[expect(
        clippy::large_stack_arrays,
        reason = "boxed at once, and a thread's stack is large enough"
    )]
    fn new() -> Self {
        Self {
            short: Box::new([0; SHORT]),
            middle: Box::new([0; SHORT]),
            long: Box::new([0; LONG]),
            links: Box::new([0; WINDOW]),
            base: FIRST_BASE,
        }
    }

    /// Starts a new text after one of which positions before `entered` were entered.
    fn begin(&mut self, entered: usize) {
        self.base += narrow(entered);
        if self.base > MAX_BASE {
            self.base = FIRST_BASE;
            self.short.fill(0);
            self.middle.fill(0);
            self.long.fill(0);
        }
    }

    /// Enters `at`, where `bytes` are.
    #[inline]
    fn enter(&mut self, at: u32, bytes: u64) -> Entered {
        let position = self.base.wrapping_add(at);
        let short = replace(&mut self.short, bytes << 40, position);
        let middle = replace(&mut self.middle, bytes << 32, position);
        let long = replace(&mut self.long, bytes << 24, position);
        if let Some(link) = self.links.get_mut(position as usize % WINDOW) {
            *link = u16::try_from(long).unwrap_or(u16::MAX);
        }
        Entered { short, middle, long }
    }

    /// Enters `at`, and finds the longest match there that is longer than `best`.
    #[inline]
    fn longest(&mut self, text: &[u8], at: usize, mut best: Match, effort: Effort) -> Match {
        let Some(bytes) = eight_bytes(text, at) else { return best };
        let Entered { short, middle, long } = self.enter(narrow(at), bytes);
        let reach = narrow(at.min(REACH));
        for (len, distance, unequal) in [(MIN_MATCH, short, 40), (MIN_MATCH + 1, middle, 32)] {
            if len > best.len && distance <= reach {
                let earlier = eight_bytes(text, at - distance as usize).unwrap_or(0);
                if (earlier ^ bytes) << unequal == 0 {
                    best = Match { len, distance };
                }
            }
        }
        let most = narrow((text.len() - at).min(MAX_MATCH as usize));
        let limits = Limits { tries: effort.tries, nice: effort.nice.min(most), most };
        if best.len < limits.nice { self.longer(text, (at, long), best, &limits) } else { best }
    }

    /// Follows the links from `at`, of which the first goes `distance` back, to a match longer than `best`.
    #[inline]
    fn longer(
        &self,
        text: &[u8],
        (at, mut distance): (usize, u32),
        mut best: Match,
        limits: &Limits,
    ) -> Match {
        let Limits { tries, nice, most } = *limits;
        let position = self.base.wrapping_add(narrow(at));
        let reach = narrow(at.min(REACH));
        let bytes = four_bytes(text, at);
        // The last four bytes of a longer match.
        let mut beyond = best.len.saturating_sub(MIN_MATCH) as usize;
        let mut wanted = four_bytes(text, at + beyond);
        for _ in 0..tries {
            if distance > reach {
                break;
            }
            let early = at.wrapping_sub(distance as usize);
            if four_bytes(text, early.wrapping_add(beyond)) == wanted
                && four_bytes(text, early) == bytes
            {
                let len = common(text, early, at, most);
                if len > best.len {
                    best = Match { len, distance };
                    if len >= nice {
                        break;
                    }
                    beyond = (len - MIN_MATCH) as usize;
                    wanted = four_bytes(text, at + beyond);
                }
            }
            let link = self.links.get(position.wrapping_sub(distance) as usize % WINDOW);
            distance = distance.wrapping_add(link.map_or(reach, |&link| link.into()));
        }
        best
    }

    /// Enters the positions from `from` up to `to`.
    #[inline]
    fn skip(&mut self, text: &[u8], from: usize, to: usize) {
        let Some(bytes) = text.get(from..(to + 7).min(text.len())) else { return };
        for (at, window) in (narrow(from)..).zip(bytes.windows(8)) {
            self.enter(at, window.first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight)));
        }
    }
}

/// Makes `position` the newest of the bytes `key`; how far before it the last one of equal hash is.
#[inline]
fn replace<const N: usize>(newest: &mut [u32; N], key: u64, position: u32) -> u32 {
    let hash = key.wrapping_mul(0x9E37_79B1_85EB_CA87) >> (64 - N.trailing_zeros());
    let hash = usize::try_from(hash).expect("a hash has few bits") % N;
    let last = newest.get_mut(hash).expect("hashes are below the length");
    position.wrapping_sub(std::mem::replace(last, position))
}

/// Tokens for a growing beginning of a text.
#[derive(Debug)]
pub(super) struct Search {
    effort: Effort,
    finder: Finder,
    tokens: Vec<Token>,
    covered: usize,
    /// A match at `covered` that is known.
    found: Option<Match>,
    /// About how many bits the tokens take, but for those from `group` on.
    bits: u64,
    group: usize,
}

impl Search {
    pub(super) fn new(effort: Effort) -> Self {
        let (finder, tokens) = (Finder::new(), Vec::new());
        Self { effort, finder, tokens, covered: 0, found: None, bits: 0, group: 0 }
    }

    /// Starts a new text.
    pub(super) fn begin(&mut self) {
        // The two positions after it may have been entered as well.
        self.finder.begin(self.covered + 2);
        self.tokens.clear();
        (self.covered, self.found, self.bits, self.group) = (0, None, 0, 0);
    }

    pub(super) fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// Bytes that the tokens encode.
    pub(super) const fn covered(&self) -> usize {
        self.covered
    }

    /// Tells how many bits the tokens really take.
    pub(super) const fn correct_bits(&mut self, bits: u64) {
        (self.bits, self.group) = (bits, self.tokens.len());
    }

    /// Adds tokens until they take about `room` bits, or encode all of `text`.
    pub(super) fn extend(&mut self, text: &[u8], room: u64) {
        let step = usize::try_from(room / 512).unwrap_or(GROUP).clamp(64, 1024);
        let mut group = Histogram::of(self.tokens.get(self.group..).unwrap_or_default());
        let mut counted = self.tokens.len();
        loop {
            let goal = self.tokens.len() + step;
            while self.covered < text.len() && self.tokens.len() < goal {
                self.add(text);
            }
            group.add_all(self.tokens.get(counted..).unwrap_or_default());
            counted = self.tokens.len();
            let bits = block_bits(&group);
            if self.covered >= text.len() || self.bits + bits >= room {
                return;
            }
            if counted >= self.group + GROUP {
                (self.bits, self.group) = (self.bits + bits, counted);
                group = Histogram::new();
            }
        }
    }

    /// Adds the next match, or a literal in its place.
    #[inline]
    fn add(&mut self, text: &[u8]) {
        let effort @ Effort { tries, nice, ahead } = self.effort;
        let at = self.covered;
        let here = match self.found.take() {
            Some(found) => found,
            None => self.finder.longest(text, at, Match::NONE, effort),
        };
        if !here.pays() {
            return self.literal(text);
        }
        let mut entered = at + 1;
        if here.len < nice {
            let least = Match { len: here.len - 1, distance: 0 };
            for (literals, (share, gain)) in (1..=ahead).zip([(2, 2), (4, 6)]) {
                let effort = Effort { tries: tries / share, ..effort };
                let next = self.finder.longest(text, entered, least, effort);
                entered += 1;
                if next.distance != 0 && here.is_worse_than(next, gain) {
                    for _ in 0..literals {
                        self.literal(text);
                    }
                    self.found = Some(next);
                    return;
                }
            }
        }
        let end = at + here.len as usize;
        self.finder.skip(text, entered, end);
        self.tokens.push(Token::matched(here.len, here.distance));
        self.covered = end;
    }

    #[inline]
    fn literal(&mut self, text: &[u8]) {
        let Some(&byte) = text.get(self.covered) else { return };
        self.tokens.push(Token::literal(byte));
        self.covered += 1;
    }
}

/// Four bytes of `text` from `at` on, the first one lowest.
#[inline]
fn four_bytes(text: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*text.get(at..at.wrapping_add(4))?.first_chunk()?))
}

#[inline]
fn eight_bytes(text: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*text.get(at..at.wrapping_add(8))?.first_chunk()?))
}

/// How many bytes from `early` and `late` on are equal, at most `most`; the first four are.
#[inline]
fn common(text: &[u8], early: usize, late: usize, most: u32) -> u32 {
    let mut len = 4_u32;
    while len < most {
        let a = eight_bytes(text, early.wrapping_add(len as usize));
        let b = eight_bytes(text, late.wrapping_add(len as usize));
        let (Some(a), Some(b)) = (a, b) else { break };
        if a != b {
            return (len + (a ^ b).trailing_zeros() / 8).min(most);
        }
        len += 8;
    }
    let byte = |start: usize, len: u32| text.get(start + len as usize);
    while len < most && byte(early, len) == byte(late, len) {
        len += 1;
    }
    len.min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EFFORT: Effort = Effort { tries: 50, nice: 130, ahead: 2 };

    fn tokens(search: &mut Search, text: &[u8]) -> Vec<Token> {
        search.begin();
        search.extend(text, u64::MAX);
        assert_eq!(search.covered(), text.len());
        search.tokens().to_vec()
    }

    /// The longest of the matches.
    fn longest(tokens: &[Token]) -> Option<(u32, u32)> {
        tokens.iter().filter_map(|token| token.as_match()).max()
    }

    /// Different bytes, between the same ones `distance` apart.
    fn apart(distance: usize) -> Vec<u8> {
        let mut state = 1_u32;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(0x9E37_79B1).wrapping_add(0x7F4A_7C15);
            state.to_be_bytes()[0]
        });
        let mut text = b"these are the same bytes".to_vec();
        text.extend(noise.take(distance - text.len()));
        text.extend_from_slice(b"these are the same bytes, and no others");
        text
    }

    #[test]
    fn matches_reach_back_a_window() {
        for (distance, is_found) in [(100, true), (REACH, true), (WINDOW, false), (70_000, false)] {
            let text = apart(distance);
            let found = longest(&tokens(&mut Search::new(EFFORT), &text));
            let expected = (24, narrow(distance));
            assert_eq!(found == Some(expected), is_found, "{distance}: {found:?}");
        }
    }

    #[test]
    fn earlier_texts_and_restarted_positions_leave_no_trace() {
        let text = apart(9000).repeat(3);
        let fresh = tokens(&mut Search::new(EFFORT), &text);
        for base in [FIRST_BASE, 1 << 30, MAX_BASE - 1, MAX_BASE, MAX_BASE + 1] {
            let mut search = Search::new(EFFORT);
            search.finder.base = base;
            for _ in 0..3 {
                assert!(tokens(&mut search, &text) == fresh, "{base}");
            }
        }
    }

    #[test]
    fn a_search_ends_soon_after_its_room_is_filled() {
        let numbers = (0..200_000_u32).map(|n| n.wrapping_mul(0x9E37_79B1) >> 12);
        let text: Vec<u8> = numbers.flat_map(|n| format!("{n} ").into_bytes()).collect();
        for room in [4096, 65_536, 1 << 19] {
            let mut search = Search::new(EFFORT);
            search.begin();
            search.extend(&text, 8 * room);
            let bits = block_bits(&Histogram::of(search.tokens()));
            assert!(bits < 9 * room, "{bits} for {room} bytes");
            assert!(bits > 7 * room, "{bits} for {room} bytes");
        }
    }

    #[test]
    fn a_better_match_one_byte_later_is_preferred() {
        let text = b"abcd, bcdefghijklm; abcdefghijklmnopqrstuvwxyz0123456789";
        let greedy = Effort { ahead: 0, ..EFFORT };
        assert_eq!(longest(&tokens(&mut Search::new(greedy), text)), Some((9, 15)));
        assert_eq!(longest(&tokens(&mut Search::new(EFFORT), text)), Some((12, 15)));
    }
}
