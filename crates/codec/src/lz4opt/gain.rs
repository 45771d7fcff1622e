//! Decides whether any LZ4 encoder could gain something.
//!
//! A match of n bytes saves at most n - 3, and it begins n - 3 groups of four bytes that occurred within
//! reach before. So the number of such groups bounds what all matches together can save, and counting
//! them is far quicker than trying to encode. The bound is proven, not guessed: where it excludes a gain, every
//! encoder fails, and nothing is lost by not trying one.

use super::index::{Index, MAX_DISTANCE, MAX_TEXT, load};

const GROUP: usize = 4;

/// Counts groups of four bytes that occurred before.
#[derive(Debug)]
pub(crate) struct Gain {
    index: Index<GROUP>,
}

/// One pass over an input.
struct Pass<'a> {
    input: &'a [u8],
    /// Offset of the next group.
    at: usize,
    /// Repeated groups so far.
    repeats: usize,
    /// Candidates that may still be compared before the pass gives up and counts every group.
    patience: usize,
}

impl Gain {
    pub(crate) fn new() -> Self {
        Self { index: Index::new() }
    }

    /// Whether a prefix of `input` may fit `room` bytes with at least one byte saved.
    pub(crate) fn possible(&mut self, input: &[u8], room: usize) -> bool {
        let span = input.len().min(room.saturating_add(1));
        if span > MAX_TEXT {
            return true;
        }
        let wanted = repeats_for(span, 1);
        let mut pass = self.begin(input, span);
        // Most data shows soon that it has enough, so check after every few bytes.
        for end in (0..span).step_by(256).chain([span]) {
            self.count(&mut pass, end);
            if pass.repeats >= wanted {
                break;
            }
        }
        pass.repeats >= wanted
    }

    /// The first whole number of `block`s, at least one, after which a pcluster of `room` bytes could
    /// save a block; the input's length if there is none.
    pub(crate) fn next_chance(&mut self, input: &[u8], room: usize, block: usize) -> usize {
        let mut pass = self.begin(input, room);
        // Repeats in all blocks before each block.
        let mut before = vec![0];
        let mut chance = input.len();
        for start in (block..input.len()).step_by(block) {
            let rest = input.len() - start;
            let span = rest.min(room.saturating_add(1));
            if start + span > MAX_TEXT {
                chance = start;
                break;
            }
            let blocks = (start + span).div_ceil(block);
            while before.len() <= blocks {
                self.count(&mut pass, before.len() * block);
                before.push(pass.repeats);
            }
            let earlier = before.get(start / block).expect("counted up to `blocks`");
            let repeats = before.get(blocks).expect("counted up to `blocks`") - earlier;
            if rest > block && repeats >= repeats_for(span, saved_bytes(rest, room, block)) {
                chance = start;
                break;
            }
        }
        chance
    }

    fn begin<'a>(&mut self, input: &'a [u8], span: usize) -> Pass<'a> {
        self.index.begin(input, span);
        Pass { input, at: 0, repeats: 0, patience: 1024 }
    }

    /// Counts the groups that begin before `end`.
    fn count(&mut self, pass: &mut Pass<'_>, end: usize) {
        // A group has eight bytes here; shorter ones are too near the end for a match.
        let end = end.min((pass.input.len() + 1).saturating_sub(8));
        self.index.enter_until(pass.input, end);
        pass.patience = pass.patience.saturating_add(end.saturating_sub(pass.at).saturating_mul(8));
        while pass.at < end {
            pass.repeats += usize::from(self.repeated(pass));
            pass.at += 1;
        }
    }

    /// Whether the group at the pass's position occurred within reach before.
    #[inline]
    fn repeated(&self, pass: &mut Pass<'_>) -> bool {
        let low = pass.at.saturating_sub(MAX_DISTANCE);
        let wanted = Index::<GROUP>::key(load(pass.input, pass.at));
        let mut candidate = pass.at;
        while let Some(earlier) = self.index.earlier(candidate).filter(|&earlier| earlier >= low) {
            candidate = earlier;
            if Index::<GROUP>::key(load(pass.input, candidate)) == wanted {
                return true;
            }
            let Some(patience) = pass.patience.checked_sub(1) else { return true };
            pass.patience = patience;
        }
        false
    }
}

/// Bytes that must be saved on what is left at a place, so that it takes a block less than plain.
fn saved_bytes(rest: usize, room: usize, block: usize) -> usize {
    if rest > room { 1 } else { (rest - 1) % block + 1 }
}

/// Fewest repeated groups with which a stream for `span` bytes can be `saved` bytes shorter.
///
/// With `m` matches of `M` bytes in all and `c` repeats, `M - 3 m <= c` and so `M <= 4 c`. One token more
/// than matches, and one byte for each 255 literals beyond the 15 of a token, bound the savings by
/// `c - 1 - (span - 4 c - 15 (c + 1)) / 255`.
fn repeats_for(span: usize, saved: usize) -> usize {
    (255 * (saved + 1) + span).saturating_sub(15).div_ceil(255 + 19)
}
