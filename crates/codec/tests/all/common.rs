//! Generates the data that the tests compress.

use proptest::collection::vec;
use proptest::prelude::*;

/// A piece of data to string together.
#[derive(Clone, Debug)]
enum Piece {
    Run(u8, usize),
    Period(Vec<u8>, usize),
    Text(u64, usize),
    Random(u64, usize),
    /// Bytes again from so far back, as far as there are any.
    Again(usize, usize),
    /// Records with a counter, as tables in programs have them.
    Records(u32, u32),
}

fn piece() -> impl Strategy<Value = Piece> {
    prop_oneof![
        (any::<u8>(), 1..3000_usize).prop_map(|(byte, len)| Piece::Run(byte, len)),
        (vec(any::<u8>(), 2..24), 1..2000_usize).prop_map(|(unit, len)| Piece::Period(unit, len)),
        (any::<u64>(), 1..6000_usize).prop_map(|(seed, len)| Piece::Text(seed, len)),
        (any::<u64>(), 1..6000_usize).prop_map(|(seed, len)| Piece::Random(seed, len)),
        (1..100_000_usize, 1..400_usize).prop_map(|(back, len)| Piece::Again(back, len)),
        (any::<u32>(), 1..200_u32).prop_map(|(start, count)| Piece::Records(start, count)),
    ]
}

/// Data of up to `pieces` pieces of all kinds.
pub(crate) fn data(pieces: usize) -> impl Strategy<Value = Vec<u8>> {
    vec(piece(), 0..pieces).prop_map(|pieces| {
        let mut data = Vec::new();
        for piece in pieces {
            append(&mut data, piece);
        }
        data
    })
}

fn append(data: &mut Vec<u8>, piece: Piece) {
    match piece {
        Piece::Run(byte, len) => data.resize(data.len() + len, byte),
        Piece::Period(unit, len) => data.extend(unit.iter().cycle().take(len)),
        Piece::Text(seed, len) => data.extend(text(seed).take(len)),
        Piece::Random(seed, len) => data.extend(random(seed).take(len)),
        Piece::Again(back, len) => {
            let start = data.len().saturating_sub(back);
            let end = data.len().min(start + len);
            data.extend_from_within(start..end);
        }
        Piece::Records(start, count) => {
            for number in (0..24 * count).step_by(24) {
                data.extend(start.wrapping_add(number).to_le_bytes());
                data.extend([0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]);
            }
        }
    }
}

/// Bytes without any pattern.
pub(crate) fn random(seed: u64) -> impl Iterator<Item = u8> {
    let mut state = seed | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 56) as u8
    })
}

/// Words from a small vocabulary.
pub(crate) fn text(seed: u64) -> impl Iterator<Item = u8> {
    const WORDS: &str = "the of and to in a is that for it as was with be by on not he his but at are \
        this have from or had an they which one you were all her she there would their cluster block \
        inode extent directory compress physical logical address";
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    random(seed).flat_map(move |pick| {
        let word = words.get(usize::from(pick) % words.len()).copied();
        word.unwrap_or_default().bytes().chain([b' '])
    })
}
