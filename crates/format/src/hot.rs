//! Defines the note that says where what is read first lies in an image, for readers that fetch it ahead.
//!
//! Extension of lith, version 1: 80 bytes at a multiple of 8 within the first [`SEARCHED`] bytes of the image, after the
//! superblock and whatever belongs to it. It is a hint: other readers ignore it, and whatever it says, an image has the
//! same content.
//!
//! | off | size | |
//! |---|---|---|
//! | 0 | 8 | magic `lith-hot` |
//! | 8 | u16 | version 1 |
//! | 10 | u16 | stretches, at most 4 |
//! | 12 | u32 | CRC-32C of the 80 bytes, with zeros here |
//! | 16 | 4 x 16 | stretches: first byte in the image and number of bytes, u64 each; zeros after the last |

use alloc::vec::Vec;
use core::ops::Range;

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U16, U32, U64},
};

use crate::notes::find_note;

/// Bytes of a note.
pub const HOT_NOTE_SIZE: usize = size_of::<RawNote>();
/// The most stretches of a note.
pub const MOST_STRETCHES: usize = 4;
/// Where an image may have a note.
pub const SEARCHED: usize = 64 << 10;

const MAGIC: [u8; 8] = *b"lith-hot";
const VERSION: u16 = 1;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone, Copy)]
#[repr(C)]
struct RawStretch {
    start: U64,
    bytes: U64,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone, Copy)]
#[repr(C)]
struct RawNote {
    magic: [u8; 8],
    version: U16,
    count: U16,
    checksum: U32,

    stretches: [RawStretch; MOST_STRETCHES],
}
const _: () = assert!(size_of::<RawNote>() == 80);

/// The note of some stretches, in bytes of the image; no more than [`MOST_STRETCHES`] of them.
#[must_use]
pub fn encode_hot_note(stretches: &[Range<u64>]) -> Vec<u8> {
    let count = stretches.len().min(MOST_STRETCHES);
    let mut note = RawNote {
        magic: MAGIC,
        version: VERSION.into(),
        count: u16::try_from(count).unwrap_or(0).into(),
        checksum: 0.into(),
        stretches: [RawStretch { start: 0.into(), bytes: 0.into() }; MOST_STRETCHES],
    };
    for (to, from) in note.stretches.iter_mut().zip(stretches) {
        to.start = from.start.into();
        to.bytes = from.end.saturating_sub(from.start).into();
    }
    note.checksum = crc32c::crc32c(note.as_bytes()).into();
    note.as_bytes().to_vec()
}

/// The stretches of the first sound note in the first bytes of an image; `None` if there is no note of a known version.
#[must_use]
pub fn find_hot_note(image: &[u8]) -> Option<Vec<Range<u64>>> {
    find_note(image, (&MAGIC, SEARCHED), |bytes, _| parse(bytes))
}

/// The stretches of the note that begins with these bytes.
fn parse(bytes: &[u8]) -> Option<Vec<Range<u64>>> {
    let (note, _) = RawNote::read_from_prefix(bytes).ok()?;
    let sum = crc32c::crc32c(RawNote { checksum: 0.into(), ..note }.as_bytes());
    if note.version.get() != VERSION || note.checksum.get() != sum {
        return None;
    }
    let stretches = note.stretches.iter().take(note.count.get().into());
    let range = |raw: &RawStretch| {
        let start = raw.start.get();
        Some(start..start.checked_add(raw.bytes.get())?)
    };
    stretches.map(range).collect()
}

#[cfg(test)]
mod tests {
    use std::vec;

    use super::*;

    #[test]
    fn a_note_is_found_wherever_it_is() {
        for count in 0..=MOST_STRETCHES {
            let all = [4096..8192, 1..2, 0..0, 5..u64::MAX];
            let stretches = all[..count].to_vec();
            for before in [0, 1152, SEARCHED - HOT_NOTE_SIZE] {
                let mut image = vec![0; before];
                image.extend(encode_hot_note(&stretches));
                image.extend([9; 100]);
                assert_eq!(find_hot_note(&image), Some(stretches.clone()));
            }
        }
        assert_eq!(find_hot_note(&vec![0; 2 * SEARCHED]), None);
    }

    #[test]
    fn every_wrong_byte_is_noticed() {
        let note = encode_hot_note(&[1..2, 3..4]);
        for at in 0..note.len() {
            let mut wrong = note.clone();
            wrong[at] ^= 1;
            assert_eq!(find_hot_note(&wrong), None, "{at}");
            assert_eq!(find_hot_note(&note[..at]), None, "{at}");
        }
    }
}
