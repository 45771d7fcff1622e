//! Defines the note that says how an image was made: by what, with which options, of what.
//!
//! Extension of lith, version 1: a header of 32 bytes and a text, at a multiple of 8 within the first [`SEARCHED`] bytes of
//! the image, after the superblock and whatever belongs to it. No file has it and other readers ignore it.
//!
//! | off | size | |
//! |---|---|---|
//! | 0 | 8 | magic `lithprov` |
//! | 8 | u16 | version 1 |
//! | 10 | u16 | zero |
//! | 12 | u32 | bytes of the text |
//! | 16 | u32 | CRC-32C of header and text, with zeros here |
//! | 20 | u32 | where in the image the note starts, so that the note of an image within a file is not mistaken for its own |
//! | 24 | 8 | zeros |

use alloc::vec::Vec;

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U16, U32},
};

use crate::notes::find_note;

/// Bytes of a note's header.
pub const PROVENANCE_HEADER_SIZE: usize = size_of::<RawHeader>();
/// The most bytes of a text: lists of options are short, and files are recorded by their digests.
pub const MOST_TEXT: usize = 1 << 20;
/// Where an image may have a note: before its first content.
pub const SEARCHED: usize = 2 << 20;

const MAGIC: [u8; 8] = *b"lithprov";
const VERSION: u16 = 1;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone, Copy)]
#[repr(C)]
struct RawHeader {
    magic: [u8; 8],
    version: U16,
    reserved: U16,
    size: U32,

    checksum: U32,
    position: U32,
    zeros: [u8; 8],
}
const _: () = assert!(size_of::<RawHeader>() == 32);

/// Bytes of a note with a text of so many bytes.
#[must_use]
pub const fn provenance_size(text: usize) -> usize {
    PROVENANCE_HEADER_SIZE + text
}

/// The note with a text, at a byte position of the image. `None`: the text is too long, or no reader would search there.
#[must_use]
pub fn encode_provenance(text: &[u8], position: u64) -> Option<Vec<u8>> {
    let end = usize::try_from(position).ok()?.checked_add(provenance_size(text.len()))?;
    if text.len() > MOST_TEXT || end > SEARCHED {
        return None;
    }
    let mut header = RawHeader {
        magic: MAGIC,
        version: VERSION.into(),
        reserved: 0.into(),
        size: u32::try_from(text.len()).ok()?.into(),
        checksum: 0.into(),
        position: u32::try_from(position).ok()?.into(),
        zeros: [0; 8],
    };
    header.checksum = checksum(&header, text).into();
    Some([header.as_bytes(), text].concat())
}

/// The text of the first sound note in the first bytes of an image; `None` if there is no note of a known version.
#[must_use]
pub fn find_provenance(image: &[u8]) -> Option<&[u8]> {
    find_note(image, (&MAGIC, SEARCHED), parse)
}

/// The text of the note that begins with these bytes of an image, which start at a position.
fn parse(bytes: &[u8], position: usize) -> Option<&[u8]> {
    let (header, rest) = RawHeader::read_from_prefix(bytes).ok()?;
    let text = rest.get(..usize::try_from(header.size.get()).ok()?)?;
    let is_here = usize::try_from(header.position.get()) == Ok(position);
    let is_known = header.version.get() == VERSION && text.len() <= MOST_TEXT && is_here;
    (is_known && checksum(&header, text) == header.checksum.get()).then_some(text)
}

fn checksum(header: &RawHeader, text: &[u8]) -> u32 {
    let header = RawHeader { checksum: 0.into(), ..*header };
    crc32c::crc32c_append(crc32c::crc32c(header.as_bytes()), text)
}

#[cfg(test)]
mod tests {
    use std::{vec, vec::Vec};

    use super::*;

    fn image(position: usize, text: &[u8]) -> Vec<u8> {
        let mut image = vec![0; position];
        image.extend(encode_provenance(text, position as u64).unwrap());
        image.extend([7; 50]);
        image
    }

    #[test]
    fn a_note_is_found_where_it_says_it_is() {
        for position in [0, 1152, 65_536] {
            for text in [&b""[..], b"{}", &[b'x'; 5000]] {
                let image = image(position, text);
                assert_eq!(find_provenance(&image), Some(text));
                // An image within a file of an image.
                assert_eq!(find_provenance(&[vec![0; 4096], image].concat()), None);
            }
        }
        assert_eq!(find_provenance(&vec![0; 10_000]), None);
        assert_eq!(encode_provenance(&[0], SEARCHED as u64 - 32), None);
        assert_eq!(encode_provenance(&vec![0; MOST_TEXT + 1], 0), None);
    }

    #[test]
    fn every_wrong_byte_is_noticed() {
        let sound = image(64, b"text");
        for at in 64..64 + provenance_size(4) {
            let mut wrong = sound.clone();
            wrong[at] ^= 1;
            assert_eq!(find_provenance(&wrong), None, "{at}");
            assert_eq!(find_provenance(&sound[..at]), None, "{at}");
        }
    }
}
