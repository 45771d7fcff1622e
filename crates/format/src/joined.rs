//! Defines the note of an image that its bases follow on the same device (a flat patch): where they begin, and which they are.
//!
//! Extension of lith, version 1: a header of 32 bytes at a multiple of 8 within the first [`SEARCHED`] bytes of the image, after
//! the superblock and whatever belongs to it, and directly after it a [note of bases](crate::bases) with a record for each
//! base, in the order in which they follow. The first one begins at a block, each other one at the first block after the one
//! before it. Linux and other readers ignore the note: to them all of it is one image.
//!
//! | off | size | |
//! |---|---|---|
//! | 0 | 8 | magic `lithjoin` |
//! | 8 | u16 | version 1 |
//! | 10 | u16 | bases |
//! | 12 | u32 | CRC-32C of the 32 bytes, with zeros here |
//! | 16 | u64 | the block at which the first base begins |
//! | 24 | u32 | where in the image the note starts, so that the note of an image within a file is not mistaken for its own |
//! | 28 | 4 | zeros |

use alloc::vec::Vec;
use core::ops::Range;

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U16, U32, U64},
};

use crate::{
    addr::{Blkaddr, BlockBits},
    bases::{Base, NoteError, parse_note},
    notes::find_note,
};

/// Bytes of the note's header, which the note of bases follows.
pub const JOINED_HEADER_SIZE: usize = size_of::<RawHeader>();
/// Where an image may have the header.
pub const SEARCHED: usize = 64 << 10;

const MAGIC: [u8; 8] = *b"lithjoin";
const VERSION: u16 = 1;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone, Copy)]
#[repr(C)]
struct RawHeader {
    magic: [u8; 8],
    version: U16,
    count: U16,
    checksum: U32,

    start: U64,
    position: U32,
    zeros: [u8; 4],
}
const _: () = assert!(size_of::<RawHeader>() == 32);

/// The bases that follow an image on its device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Joined {
    /// Where in the image the note starts.
    pub position: u64,
    /// Bytes of the note.
    pub size: usize,
    /// The block at which the first base begins.
    pub start: Blkaddr,
    /// The bases in their order.
    pub bases: Vec<Base>,
}

/// A header that was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JoinedHeader {
    /// Where in the image it starts.
    pub position: u64,
    start: Blkaddr,
    count: u16,
}

/// The header of a note at a byte position of the image, for so many bases. `None`: no reader would search there.
#[must_use]
pub fn encode_joined_header(start: Blkaddr, count: u16, position: u64) -> Option<Vec<u8>> {
    let end = usize::try_from(position).ok()?.checked_add(JOINED_HEADER_SIZE)?;
    if end > SEARCHED {
        return None;
    }
    let header = RawHeader {
        magic: MAGIC,
        version: VERSION.into(),
        count: count.into(),
        checksum: 0.into(),
        start: start.0.into(),
        position: u32::try_from(position).ok()?.into(),
        zeros: [0; 4],
    };
    let checksum = checksum(&header).into();
    Some(RawHeader { checksum, ..header }.as_bytes().to_vec())
}

/// The first sound header in the first bytes of an image; `None` if there is none of a known version.
#[must_use]
pub fn find_joined_header(image: &[u8]) -> Option<JoinedHeader> {
    find_note(image, (&MAGIC, SEARCHED), parse)
}

fn parse(bytes: &[u8], position: usize) -> Option<JoinedHeader> {
    let (header, _) = RawHeader::read_from_prefix(bytes).ok()?;
    let is_here = usize::try_from(header.position.get()) == Ok(position);
    let is_sound = header.version.get() == VERSION && checksum(&header) == header.checksum.get();
    (is_here && is_sound).then(|| JoinedHeader {
        position: position as u64,
        start: Blkaddr(header.start.get()),
        count: header.count.get(),
    })
}

impl JoinedHeader {
    /// Where in the image the note of bases starts.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.position + JOINED_HEADER_SIZE as u64
    }

    /// The note, of which the bytes after the header are `bytes`, and perhaps more.
    ///
    /// # Errors
    /// [`NoteError`] if no note of as many bases follows.
    pub fn with_bases(self, bytes: &[u8]) -> Result<Joined, NoteError> {
        let Self { position, start, count } = self;
        let bases = parse_note(bytes, count)?;
        let bases = bases.ok_or(NoteError::Count { found: 0, expected: count })?;
        let size = crate::bases::note_size(bytes).unwrap_or(0);
        Ok(Joined { position, size: JOINED_HEADER_SIZE + size, start, bases })
    }
}

impl Joined {
    /// The bytes of the image that each base has. `None`: some would be beyond all addresses.
    #[must_use]
    pub fn ranges(&self, block: BlockBits) -> Option<Vec<Range<u64>>> {
        let mut next = self.start;
        let range = |base: &Base| {
            let start = next.to_pa(block)?.0;
            next = next.checked_add(block.blocks_for(base.bytes))?;
            Some(start..start.checked_add(base.bytes)?)
        };
        self.bases.iter().map(range).collect()
    }
}

fn checksum(header: &RawHeader) -> u32 {
    crc32c::crc32c(RawHeader { checksum: 0.into(), ..*header }.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::{vec, vec::Vec};

    use super::*;
    use crate::bases::encode_note;

    fn base(bytes: u64) -> Base {
        let name = b"old.erofs".to_vec();
        Base { uuid: [1; 16], digest: [2; 32], head: [3; 32], bytes, name, root: None }
    }

    fn note(start: u64, bases: &[Base], position: usize) -> Vec<u8> {
        let count = u16::try_from(bases.len()).unwrap();
        let header = encode_joined_header(Blkaddr(start), count, position as u64).unwrap();
        [header, encode_note(bases)].concat()
    }

    #[test]
    fn a_note_is_found_where_it_says_it_is() {
        let bases = [base(5000), base(4096)];
        for position in [0, 1152, SEARCHED - 32] {
            let note = note(7, &bases, position);
            let image = [vec![0; position], note.clone(), vec![9; 99]].concat();
            let header = find_joined_header(&image).unwrap();
            let found = header.with_bases(&image[position + 32..]).unwrap();
            assert_eq!((found.position, found.size), (position as u64, note.len()));
            assert_eq!((found.start, &found.bases[..]), (Blkaddr(7), &bases[..]));
            let ranges = found.ranges(BlockBits::DEFAULT).unwrap();
            assert_eq!(ranges, [28_672..33_672, 36_864..40_960]);
            // An image within a file of an image.
            assert_eq!(find_joined_header(&[vec![0; 4096], image].concat()), None);
        }
        assert_eq!(encode_joined_header(Blkaddr(0), 1, SEARCHED as u64 - 31), None);
        assert_eq!(find_joined_header(&vec![0; 2 * SEARCHED]), None);
    }

    #[test]
    fn every_wrong_byte_is_noticed() {
        let note = note(7, &[base(5000)], 0);
        for at in 0..note.len() {
            let mut wrong = note.clone();
            wrong[at] ^= 1;
            let found = find_joined_header(&wrong);
            let found = found.and_then(|header| header.with_bases(&wrong[32..]).ok());
            assert_eq!(found, None, "{at}");
        }
        let header = find_joined_header(&note).unwrap();
        assert!(header.with_bases(&[]).is_err());
    }

    #[test]
    fn bases_beyond_all_addresses_have_no_bytes() {
        for (start, bytes) in [(u64::MAX, 1), (u64::MAX >> 12, 8192), (1, u64::MAX)] {
            let note = note(start, &[base(bytes), base(1)], 0);
            let found = find_joined_header(&note).unwrap().with_bases(&note[32..]).unwrap();
            assert_eq!(found.ranges(BlockBits::DEFAULT), None, "{start}");
        }
    }
}
