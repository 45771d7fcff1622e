//! Hashes two blocks at once by the SHA instructions of x86-64.
//!
//! Each of these instructions waits for the result of the one before, while the processor could start another one: two
//! independent hashes take little more time than one. The crate's only unsafe code.

use std::{
    arch::x86_64::{
        __m128i, _mm_add_epi32, _mm_alignr_epi8, _mm_extract_epi32, _mm_set_epi32, _mm_set_epi64x,
        _mm_sha256msg1_epu32, _mm_sha256msg2_epu32, _mm_sha256rnds2_epu32, _mm_shuffle_epi8,
        _mm_shuffle_epi32,
    },
    slice,
};

use sha2::block_api::compress256;

/// Bytes that SHA-256 takes at once.
const BLOCK: usize = 64;

/// The eight words between two of these blocks.
type State = [u32; 8];

/// Where SHA-256 starts: the square roots of the first primes, their fractions.
const START: State = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// What rounds add, those of four rounds in a row: the cube roots of the first primes, their fractions.
const ROUNDS: [[u32; 4]; 16] = [
    [0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5],
    [0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5],
    [0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3],
    [0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174],
    [0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc],
    [0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da],
    [0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7],
    [0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967],
    [0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13],
    [0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85],
    [0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3],
    [0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070],
    [0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5],
    [0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3],
    [0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208],
    [0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2],
];

/// Rounds, by four, that have a later one to prepare words for.
const PREPARING: usize = 12;

/// Hashes two messages that begin with the same salt. Exists only where the processor has the instructions.
#[derive(Clone, Debug)]
pub(super) struct PairHasher {
    /// After the salt's whole blocks.
    state: State,
    /// The salt's bytes after these.
    rest: Vec<u8>,
    /// Bytes of the salt.
    salt: usize,
}

impl PairHasher {
    pub(super) fn new(salt: &[u8]) -> Option<Self> {
        let can = is_x86_feature_detected!("sha")
            && is_x86_feature_detected!("ssse3")
            && is_x86_feature_detected!("sse4.1");
        let (blocks, rest) = salt.as_chunks();
        let mut state = START;
        compress256(&mut state, blocks);
        can.then(|| Self { state, rest: rest.to_vec(), salt: salt.len() })
    }

    /// The digests of two messages, if they are equally long and fill the block in which the salt ends.
    pub(super) fn hash(&self, messages: [&[u8]; 2]) -> Option<[[u8; 32]; 2]> {
        let [one, other] = messages;
        if one.len() != other.len() {
            return None;
        }
        let (one, other) = (self.split(one)?, self.split(other)?);
        let mut states = [self.state; 2];
        for both in [
            [one.head.as_slice(), other.head.as_slice()],
            [one.middle, other.middle],
            [one.end.blocks(), other.end.blocks()],
        ] {
            // SAFETY: a `PairHasher` is made only where the processor has these instructions.
            #[expect(unsafe_code, reason = "the instructions were found by `new`")]
            unsafe {
                compress(&mut states, both);
            }
        }
        Some(states.map(digest))
    }

    fn split<'a>(&self, message: &'a [u8]) -> Option<Split<'a>> {
        let missing = (BLOCK - self.rest.len()) % BLOCK;
        let (first, others) = message.split_at_checked(missing)?;
        let (middle, last) = others.as_chunks();
        let head = (missing > 0).then(|| filled(&self.rest, first));
        // A one bit, zeros, and the length in bits.
        let bits = ((self.salt + message.len()) as u64 * 8).to_be_bytes();
        let end = if last.len() + 1 + bits.len() > BLOCK {
            End::Two([filled(last, &[0x80]), with_end([0; BLOCK], bits)])
        } else {
            End::One(with_end(filled(last, &[0x80]), bits))
        };
        Some(Split { head, middle, end })
    }
}

/// A message in blocks.
struct Split<'a> {
    /// The salt's end and what fills its block.
    head: Option<[u8; BLOCK]>,
    middle: &'a [[u8; BLOCK]],
    /// What is left, padded.
    end: End,
}

enum End {
    One([u8; BLOCK]),
    Two([[u8; BLOCK]; 2]),
}

impl End {
    const fn blocks(&self) -> &[[u8; BLOCK]] {
        match self {
            Self::One(block) => slice::from_ref(block),
            Self::Two(blocks) => blocks,
        }
    }
}

/// A block that begins with these bytes, at most 64 in all; zeros follow them.
fn filled(start: &[u8], end: &[u8]) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    let (first, others) = block.split_at_mut(start.len());
    first.copy_from_slice(start);
    let (second, _) = others.split_at_mut(end.len());
    second.copy_from_slice(end);
    block
}

fn with_end(mut block: [u8; BLOCK], end: [u8; 8]) -> [u8; BLOCK] {
    if let Some(place) = block.last_chunk_mut() {
        *place = end;
    }
    block
}

fn digest(state: State) -> [u8; 32] {
    let mut digest = [0; 32];
    let words = state.map(u32::to_be_bytes);
    digest.copy_from_slice(words.as_flattened());
    digest
}

/// One of the two hashes, as the instructions take it.
#[derive(Clone, Copy)]
struct Lane {
    /// Words F, E, B, A of the state.
    abef: __m128i,
    /// Words H, G, D, C.
    cdgh: __m128i,
    /// The words of the message for the next 16 rounds.
    words: [__m128i; 4],
}

/// Takes equally many blocks of two messages.
#[target_feature(enable = "sha,ssse3,sse4.1")]
fn compress(states: &mut [State; 2], [one, other]: [&[[u8; BLOCK]]; 2]) {
    let [mut first, mut second] = [load(states[0]), load(states[1])];
    let (preparing, last) = ROUNDS.split_at(PREPARING);
    for (one, other) in one.iter().zip(other) {
        let before = [first, second];
        first.words = words(one);
        second.words = words(other);
        for constants in preparing {
            let constants = vector(*constants);
            rounds(&mut first, constants);
            rounds(&mut second, constants);
            first.words = next(first.words);
            second.words = next(second.words);
        }
        for constants in last {
            let constants = vector(*constants);
            rounds(&mut first, constants);
            rounds(&mut second, constants);
            first.words.rotate_left(1);
            second.words.rotate_left(1);
        }
        add(&mut first, before[0]);
        add(&mut second, before[1]);
    }
    *states = [store(first), store(second)];
}

#[inline]
#[target_feature(enable = "sse2")]
fn vector([a, b, c, d]: [u32; 4]) -> __m128i {
    _mm_set_epi32(d.cast_signed(), c.cast_signed(), b.cast_signed(), a.cast_signed())
}

#[inline]
#[target_feature(enable = "sse2")]
fn load(state: State) -> Lane {
    let [w0, w1, w2, w3, w4, w5, w6, w7] = state;
    let (abef, cdgh) = (vector([w5, w4, w1, w0]), vector([w7, w6, w3, w2]));
    Lane { abef, cdgh, words: [abef; 4] }
}

#[inline]
#[target_feature(enable = "sse4.1")]
fn store(Lane { abef, cdgh, .. }: Lane) -> State {
    [
        _mm_extract_epi32::<3>(abef),
        _mm_extract_epi32::<2>(abef),
        _mm_extract_epi32::<3>(cdgh),
        _mm_extract_epi32::<2>(cdgh),
        _mm_extract_epi32::<1>(abef),
        _mm_extract_epi32::<0>(abef),
        _mm_extract_epi32::<1>(cdgh),
        _mm_extract_epi32::<0>(cdgh),
    ]
    .map(i32::cast_unsigned)
}

/// The words of a block, which are stored with the high byte first.
#[inline]
#[target_feature(enable = "ssse3")]
fn words(block: &[u8; BLOCK]) -> [__m128i; 4] {
    let order = _mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203);
    let mut words = [order; 4];
    let (parts, _) = block.as_chunks::<8>();
    let (pairs, _) = parts.as_chunks();
    for (words, [low, high]) in words.iter_mut().zip(pairs) {
        let loaded = _mm_set_epi64x(i64::from_le_bytes(*high), i64::from_le_bytes(*low));
        *words = _mm_shuffle_epi8(loaded, order);
    }
    words
}

/// Four rounds.
#[inline]
#[target_feature(enable = "sha")]
fn rounds(lane: &mut Lane, constants: __m128i) {
    let sum = _mm_add_epi32(lane.words[0], constants);
    lane.cdgh = _mm_sha256rnds2_epu32(lane.cdgh, lane.abef, sum);
    let sum = _mm_shuffle_epi32::<0b1110>(sum);
    lane.abef = _mm_sha256rnds2_epu32(lane.abef, lane.cdgh, sum);
}

/// The words of later rounds: without the first four, and with those that follow from all.
#[inline]
#[target_feature(enable = "sha,ssse3")]
fn next([w0, w4, w8, w12]: [__m128i; 4]) -> [__m128i; 4] {
    let sum = _mm_add_epi32(_mm_sha256msg1_epu32(w0, w4), _mm_alignr_epi8::<4>(w12, w8));
    [w4, w8, w12, _mm_sha256msg2_epu32(sum, w12)]
}

#[inline]
#[target_feature(enable = "sse2")]
fn add(lane: &mut Lane, before: Lane) {
    lane.abef = _mm_add_epi32(lane.abef, before.abef);
    lane.cdgh = _mm_add_epi32(lane.cdgh, before.cdgh);
}
