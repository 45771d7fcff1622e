//! How is a pcluster filled with as much LZ4 data as it can hold?
//!
//! LZ4 sequences have plain prices: a byte for the token, two for the distance, one for each literal and
//! now and then one more for a long length. [`Optimal`] prices every position that the output can
//! reach, forward from the pcluster's first byte, and cuts where the output ends ([`parse`]). Since a
//! match costs the same at any distance and any part of a match is a match, one question remains
//! for each position: which earlier one has the most bytes in common ([`finder`])? It is searched only
//! where a match could lower a price, and only for matches long enough to do so.

mod emit;
mod finder;
mod gain;
mod index;
mod nodes;
mod parse;
mod place;

pub(crate) use emit::literals_within;
pub(crate) use gain::Gain;
pub(crate) use index::{MAX_DISTANCE, MAX_TEXT, eight_bytes, narrow};
pub(crate) use parse::{Effort, LAST_LITERALS, MATCH_MARGIN, MAX_RATIO, Optimal};
