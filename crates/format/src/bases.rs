//! Defines the note that names the images an image refers to: the files of its device table.
//!
//! The note follows the device table directly. Linux and other readers ignore it: they get their devices from whoever
//! mounts the image, in the order of the table, and trust that they are the right ones.
//!
//! Extension of lith, version 1. A header of 32 bytes, then for each slot of the device table, in its order, a record of
//! 96 bytes and the name of the device's file, which is padded to a multiple of 8 by zeros:
//!
//! | off | size | header | | off | size | record |
//! |---|---|---|---|---|---|---|
//! | 0 | 8 | magic `lithbase` | | 0 | 16 | UUID of the image on the device; zeros if there is none |
//! | 8 | u16 | version 1 | | 16 | 32 | SHA-256 of all bytes of the device |
//! | 10 | u16 | records | | 48 | 32 | SHA-256 of its first 4096 bytes, or of all if there are fewer |
//! | 12 | u32 | bytes of header and records | | 80 | u64 | bytes of the device |
//! | 16 | u32 | CRC-32C of all that, with zeros here | | 88 | u16 | bytes of the name |
//! | 20 | u16 | root hashes: 0, or as many as records | | 90 | 6 | zeros |
//! | 22 | 10 | zeros | | | | |
//!
//! The SHA-256 of all bytes is zeros if it is not known: then length and beginning identify the device. After the records are the
//! root hashes of dm-verity of all devices, 32 bytes each; zeros for a device without hash tree.

use alloc::vec::Vec;

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U16, U32, U64},
};

/// Bytes of a device that [`Base::head`] is the digest of.
pub const HEAD_SIZE: usize = 4096;

/// Bytes of a note's header.
pub const NOTE_HEADER_SIZE: usize = size_of::<RawHeader>();

/// The most bytes of a note: each of its records can be so large, with its root hash, and a device table has 65535 slots.
const MOST_RECORD: usize = size_of::<RawRecord>() + MOST_NAME + ROOT_SIZE;
/// Bytes of a root hash.
const ROOT_SIZE: usize = 32;
/// The most bytes of a name.
const MOST_NAME: usize = 256;

const MAGIC: [u8; 8] = *b"lithbase";
const VERSION: u16 = 1;
/// Where the header has the checksum.
const CHECKSUM_AT: usize = 16;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone, Copy)]
#[repr(C)]
struct RawHeader {
    magic: [u8; 8],
    version: U16,
    count: U16,
    size: U32,

    checksum: U32,
    roots: U16,
    reserved: [u8; 10],
}
const _: () = assert!(size_of::<RawHeader>() == 32);

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone, Copy)]
#[repr(C)]
struct RawRecord {
    uuid: [u8; 16],

    digest: [u8; 32],

    head: [u8; 32],

    bytes: U64,
    name_size: U16,
    reserved: [u8; 6],
}
const _: () = assert!(size_of::<RawRecord>() == 96);

/// A file that an image refers to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Base {
    /// The UUID of the image in it; zeros if it has none.
    pub uuid: [u8; 16],
    /// SHA-256 of all its bytes; zeros if it is not known.
    pub digest: [u8; 32],
    /// SHA-256 of its first [`HEAD_SIZE`] bytes.
    pub head: [u8; 32],
    /// How many bytes it has.
    pub bytes: u64,
    /// Its name, without a directory.
    pub name: Vec<u8>,
    /// The root hash of the hash tree appended to its bytes, if there is one.
    pub root: Option<[u8; ROOT_SIZE]>,
}

impl Base {
    /// Whether the digest of all bytes is known.
    #[must_use]
    pub fn has_digest(&self) -> bool {
        self.digest != [0; 32]
    }
}

/// Why a note can't be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoteError {
    /// Its bytes are missing.
    #[error("the note of bases has {found} bytes, fewer than the {expected} that it announces")]
    Truncated {
        /// Bytes at hand.
        found: usize,
        /// Bytes announced.
        expected: usize,
    },
    /// It is of a later version.
    #[error("the note of bases has version {0}, which is unknown")]
    Version(u16),
    /// Its checksum is wrong.
    #[error("the note of bases has the checksum {found:#010x}, expected {expected:#010x}")]
    Checksum {
        /// The checksum in it.
        found: u32,
        /// That of its bytes.
        expected: u32,
    },
    /// It has another number of records than the device table has slots.
    #[error("the note of bases names {found} devices, the device table has {expected}")]
    Count {
        /// Records.
        found: u16,
        /// Slots.
        expected: u16,
    },
    /// A record or a name is cut off, or the name leads elsewhere.
    #[error("record {0} of the note of bases is damaged")]
    Record(u16),
}

/// The bytes of a note with records for the slots of a device table.
#[must_use]
pub fn encode_note(bases: &[Base]) -> Vec<u8> {
    let count = u16::try_from(bases.len()).unwrap_or(u16::MAX);
    let has_roots = bases.iter().any(|base| base.root.is_some());
    let mut out = RawHeader {
        magic: MAGIC,
        version: VERSION.into(),
        count: count.into(),
        size: 0.into(),
        checksum: 0.into(),
        roots: if has_roots { count } else { 0 }.into(),
        reserved: [0; 10],
    }
    .as_bytes()
    .to_vec();
    for Base { uuid, digest, head, bytes, name, .. } in bases {
        let name = name.get(..MOST_NAME).unwrap_or(name);
        let raw = RawRecord {
            uuid: *uuid,
            digest: *digest,
            head: *head,
            bytes: (*bytes).into(),
            name_size: u16::try_from(name.len()).unwrap_or(0).into(),
            reserved: [0; 6],
        };
        out.extend_from_slice(raw.as_bytes());
        out.extend_from_slice(name);
        out.resize(out.len().next_multiple_of(8), 0);
    }
    if has_roots {
        let roots = bases.iter().flat_map(|base| base.root.unwrap_or([0; ROOT_SIZE]));
        out.extend(roots);
    }
    let size = u32::try_from(out.len()).expect("65,535 records are fewer than 2³² bytes");
    put(&mut out, 12, size);
    let checksum = crc32c::crc32c(&out);
    put(&mut out, CHECKSUM_AT, checksum);
    out
}

fn put(bytes: &mut [u8], at: usize, value: u32) {
    let field = bytes.iter_mut().skip(at);
    field.zip(value.to_le_bytes()).for_each(|(to, from)| *to = from);
}

/// Bytes of the note that begins with these; `None`: none begins here.
#[must_use]
pub fn note_size(bytes: &[u8]) -> Option<usize> {
    let (header, _) = RawHeader::read_from_prefix(bytes).ok()?;
    let size = usize::try_from(header.size.get()).ok()?;
    let most = size_of::<RawHeader>() + usize::from(header.count.get()) * MOST_RECORD;
    (header.magic == MAGIC).then(|| size.min(most))
}

/// The bases that a note names, one for each of `slots` slots of the device table. `None`: no note begins here.
///
/// # Errors
/// [`NoteError`] if there is a note that can't be used.
pub fn parse_note(bytes: &[u8], slots: u16) -> Result<Option<Vec<Base>>, NoteError> {
    let Some(size) = note_size(bytes) else { return Ok(None) };
    let Ok((header, _)) = RawHeader::read_from_prefix(bytes) else { return Ok(None) };
    if header.version.get() != VERSION {
        return Err(NoteError::Version(header.version.get()));
    }
    let truncated = NoteError::Truncated { found: bytes.len(), expected: size };
    let note = bytes.get(..size).filter(|note| note.len() >= NOTE_HEADER_SIZE).ok_or(truncated)?;
    let mut sum = note.to_vec();
    put(&mut sum, CHECKSUM_AT, 0);
    let (found, expected) = (header.checksum.get(), crc32c::crc32c(&sum));
    if found != expected {
        return Err(NoteError::Checksum { found, expected });
    }
    let count = header.count.get();
    if count != slots {
        return Err(NoteError::Count { found: count, expected: slots });
    }
    let mut rest = note.get(NOTE_HEADER_SIZE..).unwrap_or_default();
    let bases = (0..count).map(|number| take(&mut rest).ok_or(NoteError::Record(number)));
    let mut bases = bases.collect::<Result<Vec<_>, _>>()?;
    if header.roots.get() > 0 {
        for (number, base) in (0..count).zip(&mut bases) {
            let (root, after) = rest.split_first_chunk().ok_or(NoteError::Record(number))?;
            base.root = Some(*root).filter(|root| *root != [0; ROOT_SIZE]);
            rest = after;
        }
    }
    Ok(Some(bases))
}

/// Takes a record off the front.
fn take(rest: &mut &[u8]) -> Option<Base> {
    let (raw, after) = RawRecord::read_from_prefix(rest).ok()?;
    let size = usize::from(raw.name_size.get());
    let name = after.get(..size)?;
    let leads_elsewhere =
        name.contains(&b'/') || name.contains(&0) || matches!(name, b"" | b"." | b"..");
    if leads_elsewhere || size > MOST_NAME {
        return None;
    }
    *rest = after.get(size.next_multiple_of(8)..)?;
    let RawRecord { uuid, digest, head, bytes, .. } = raw;
    Some(Base { uuid, digest, head, bytes: bytes.get(), name: name.to_vec(), root: None })
}

#[cfg(test)]
mod tests {
    use std::vec;

    use super::*;

    fn base(name: &[u8]) -> Base {
        let bytes = 4096 * name.len() as u64;
        let name = name.to_vec();
        Base { uuid: [1; 16], digest: [2; 32], head: [3; 32], bytes, name, root: None }
    }

    #[test]
    fn root_hashes_follow_the_records() {
        let mut bases = [base(b"old.erofs"), base(&[b'n'; 255])];
        let without = encode_note(&bases);
        bases[1].root = Some([4; 32]);
        let note = encode_note(&bases);
        assert_eq!(note.len(), without.len() + 64);
        assert_eq!(parse_note(&note, 2), Ok(Some(bases.to_vec())));
        for at in 0..note.len() {
            let mut wrong = note.clone();
            wrong[at] ^= 1;
            assert!(!matches!(parse_note(&wrong, 2), Ok(Some(_))), "{at}");
            let _ = parse_note(&note[..at], 2);
        }
    }

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let bases = [base(b"old.erofs"), base(b"x"), base(&[b'n'; 255])];
        let mut note = encode_note(&bases);
        assert_eq!((note.len() % 8, note_size(&note)), (0, Some(note.len())));
        note.extend([9; 100]);
        assert_eq!(parse_note(&note, 3), Ok(Some(bases.to_vec())));
        assert_eq!(parse_note(&note, 2), Err(NoteError::Count { found: 3, expected: 2 }));
        assert_eq!(parse_note(&[0; 64], 3), Ok(None));
        assert_eq!(parse_note(b"lithbase", 0), Ok(None));
    }

    #[test]
    fn every_wrong_byte_is_noticed_and_no_name_leads_elsewhere() {
        let note = encode_note(&[base(b"old.erofs")]);
        for at in 0..note.len() {
            let mut wrong = note.clone();
            wrong[at] ^= 1;
            assert!(!matches!(parse_note(&wrong, 1), Ok(Some(_))), "{at}");
            let _ = parse_note(&note[..at], 1);
        }
        for name in [&b".."[..], b".", b"", b"a/b", b"a\0"] {
            assert_eq!(parse_note(&encode_note(&[base(name)]), 1), Err(NoteError::Record(0)));
        }
        assert!(parse_note(&vec![0xff; 4096], 1).is_ok());
    }
}
