//! How is a pcluster filled with LZ4 data when time matters most?
//!
//! One table remembers where the hash of a few bytes occurred last; the first place whose remembered one
//! has the same four bytes becomes a match, as long as it goes on ([`finder`]). What limits the
//! speed are branches that no processor can foresee, so all that can be is computed without any: how
//! far a match goes on in both directions, and the bytes of a usual sequence ([`emit`]). Nothing is
//! searched that the output cannot hold, which is what liblz4 spends its time on in noise.

mod emit;
mod finder;

use crate::Fit;
use crate::lz4opt::{MATCH_MARGIN, MAX_RATIO, MAX_TEXT};
use emit::Block;
use finder::{Finder, Table};

/// Outputs of so many bytes take in enough input for a larger table and a longer gram to pay: fewer
/// matches, but no worse ones.
const LARGE_ROOM: usize = 64 << 10;

/// A fixed-output encoder that takes the first match it meets.
#[derive(Debug)]
pub(crate) struct Fast {
    table: Box<Table>,
}

impl Fast {
    pub(crate) fn new() -> Self {
        Self { table: finder::new_table() }
    }

    /// Encodes the longest prefix of `input` that fits; `output` has 16 bytes or more.
    pub(crate) fn fill(&mut self, input: &[u8], output: &mut [u8]) -> Fit {
        let most = output.len().saturating_mul(MAX_RATIO).saturating_add(MATCH_MARGIN);
        let input = input.get(..most.min(MAX_TEXT)).unwrap_or(input);
        let room = output.len().min(2 * MAX_TEXT);
        let output = output.get_mut(..room).expect("no more than its length");
        if room < LARGE_ROOM {
            fill::<5, 13>(&mut self.table, input, output)
        } else {
            fill::<6, 14>(&mut self.table, input, output)
        }
    }
}

/// Not inlined, or else the two of a kind contend for registers.
#[inline(never)]
fn fill<const GRAM: u32, const BITS: u32>(
    table: &mut Table,
    input: &[u8],
    output: &mut [u8],
) -> Fit {
    let mut finder = Finder::<'_, GRAM, BITS>::new(table, input);
    let mut block = Block::new(input, output);
    let mut from = 1;
    while let Some(found) = finder.search(from, block.reach()) {
        from = found.at.wrapping_add(1);
        if found.is_far() {
            continue;
        }
        let len = finder.len(&found);
        let back = finder.len_back(&found, found.at.wrapping_sub(block.anchor()));
        if !block.push(&found.extended(len, back)) {
            break;
        }
        from = block.anchor();
        finder.enter(found.at.wrapping_add(1));
        finder.enter(from.wrapping_sub(2));
    }
    block.finish()
}
