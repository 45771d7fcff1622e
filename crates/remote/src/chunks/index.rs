//! Defines [`ChunkIndex`]: which chunks an image consists of, in the form of the draft of the EROFS image format
//! (`application/vnd.erofs.chunk-index.v1`): a header of 32 bytes, and an entry of 48 bytes for each chunk.

use std::{collections::HashMap, ops::Range};

use sha2::{Digest, Sha256};

/// The most chunks of an image: what the manifest of a registry can list.
pub(super) const MOST: usize = 16_384;
/// The most bytes of a chunk. Each one that is fetched is in memory as a whole.
pub(super) const LONGEST: u64 = 16 << 20;

/// How often the bytes of all different chunks may be in an image, zeros not counted, beyond [`FREE`]. An index of a few bytes could
/// make who fetches it write 256 GiB otherwise.
const REPEATS: u64 = 64;
/// Bytes that an image may have in any case.
const FREE: u64 = 1 << 30;

const MAGIC: [u8; 4] = [0xcd, 0xe4, 0xec, 0x67];
/// Version 1, no compression, no flags.
const PLAIN: [u8; 4] = [1, 0, 0, 0];
/// SHA-2, 32 bytes of a digest, and bytes that are reserved.
const SHA256: [u8; 12] = [1, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const HEADER: usize = 32;
const ENTRY: usize = 48;
/// Bytes of the longest index.
pub(super) const LARGEST: u64 = (HEADER + MOST * ENTRY) as u64;

/// Which chunks an image consists of: in order, without gaps.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChunkIndex {
    length: u64,
    chunks: Vec<Entry>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    start: u64,
    digest: [u8; 32],
}

/// A part of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Chunk {
    /// Its first byte in the image.
    pub start: u64,
    /// Its bytes.
    pub length: u64,
    /// The SHA-256 of its bytes.
    pub sha256: [u8; 32],
}

impl Chunk {
    /// The digest by which a registry has it.
    #[must_use]
    pub fn digest(&self) -> String {
        format!("sha256:{}", hex::encode(self.sha256))
    }

    fn is_zeros(&self) -> bool {
        let length = usize::try_from(self.length.min(LONGEST)).unwrap_or(0);
        <[u8; 32]>::from(Sha256::digest(vec![0; length])) == self.sha256
    }
}

impl ChunkIndex {
    /// Adds a chunk after the others; `false`: there are too many.
    pub(super) fn push(&mut self, length: u64, digest: [u8; 32]) -> bool {
        self.chunks.push(Entry { start: self.length, digest });
        self.length = self.length.saturating_add(length);
        self.chunks.len() <= MOST
    }

    /// Bytes of the image.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// All chunks, in order.
    pub fn chunks(&self) -> impl Iterator<Item = Chunk> {
        let ends = self.chunks.iter().skip(1).map(|next| next.start).chain([self.length]);
        self.chunks.iter().zip(ends).map(|(Entry { start, digest }, end)| Chunk {
            start: *start,
            length: end.saturating_sub(*start),
            sha256: *digest,
        })
    }

    /// The chunks that have any of these bytes.
    pub(crate) fn covering(&self, bytes: &Range<u64>) -> impl Iterator<Item = Chunk> {
        let first = self.chunks.partition_point(|chunk| chunk.start <= bytes.start);
        let end = bytes.end;
        self.chunks().skip(first.saturating_sub(1)).take_while(move |chunk| chunk.start < end)
    }

    /// Each different chunk once, with the places where it is.
    #[must_use]
    pub fn distinct(&self) -> Vec<(Chunk, Vec<u64>)> {
        let mut known = HashMap::<[u8; 32], usize>::new();
        let mut all: Vec<(Chunk, Vec<u64>)> = Vec::new();
        for chunk in self.chunks() {
            let place = *known.entry(chunk.sha256).or_insert(all.len());
            match all.get_mut(place) {
                Some((_, places)) => places.push(chunk.start),
                None => all.push((chunk, vec![chunk.start])),
            }
        }
        all
    }

    /// Bytes that a file with the image takes on disk if zeros are holes in it. Only the most frequent chunk is compared with
    /// zeros: many of them are cut into equal chunks.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written_of(&self.distinct())
    }

    /// The same, with what [`Self::distinct`] has returned.
    fn written_of(&self, distinct: &[(Chunk, Vec<u64>)]) -> u64 {
        let most = distinct.iter().max_by_key(|(_, places)| places.len());
        let zeros = most.filter(|(chunk, places)| places.len() > 1 && chunk.is_zeros());
        let holes = zeros.map_or(0, |(chunk, places)| chunk.length * places.len() as u64);
        self.length.saturating_sub(holes)
    }

    /// Refuses an image that consists of a few chunks very often.
    pub(super) fn check_repeats(&self) -> Result<(), &'static str> {
        let distinct = self.distinct();
        let stored: u64 = distinct.iter().map(|(chunk, _)| chunk.length).sum();
        let most = stored.saturating_mul(REPEATS).saturating_add(FREE);
        if self.length > most && self.written_of(&distinct) > most {
            return Err("a few chunks are repeated too often");
        }
        Ok(())
    }

    /// The index as a registry has it.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER + self.chunks.len() * ENTRY);
        bytes.extend(MAGIC);
        bytes.extend(PLAIN);
        bytes.extend(self.length.to_le_bytes());
        let count = u32::try_from(self.chunks.len()).expect("there are at most `MOST`");
        bytes.extend(count.to_le_bytes());
        bytes.extend(SHA256);
        for Entry { start, digest } in &self.chunks {
            // Where it is stored, were all of the image one blob, and where it belongs.
            bytes.extend([start.to_le_bytes(), start.to_le_bytes()].concat());
            bytes.extend(digest);
        }
        bytes
    }

    /// Parses an index. The error says what is wrong with it.
    pub(crate) fn parse(mut bytes: &[u8]) -> Result<Self, &'static str> {
        let rest = &mut bytes;
        if take(rest) != Some(MAGIC) {
            return Err("it is none");
        }
        if take(rest) != Some(PLAIN) {
            return Err("its version, compression or flags are unknown");
        }
        let length = take(rest).map(u64::from_le_bytes);
        let count = take(rest).map(u32::from_le_bytes);
        let (Some(length), Some(count)) = (length, count) else { return Err("it is cut off") };
        if take(rest) != Some(SHA256) {
            return Err("its digests are not SHA-256");
        }
        let count = usize::try_from(count).expect("32 bits");
        if count > MOST {
            return Err("it has too many chunks");
        }
        if rest.len() != count * ENTRY {
            return Err("it has another length than its header says");
        }
        let mut chunks = Vec::with_capacity(count);
        while let (Some(stored), Some(start), Some(digest)) = (take(rest), take(rest), take(rest)) {
            let start = u64::from_le_bytes(start);
            if stored != start.to_le_bytes() {
                return Err("a chunk is not stored where it belongs");
            }
            chunks.push(Entry { start, digest });
        }
        let index = Self { length, chunks };
        index.check().map(|()| index)
    }

    fn check(&self) -> Result<(), &'static str> {
        let starts = self.chunks.iter().map(|chunk| chunk.start);
        let ends = starts.clone().skip(1).chain([self.length]);
        if starts.clone().next().unwrap_or(self.length) != 0 {
            return Err("its first chunk is not the start of the image");
        }
        if starts.zip(ends).any(|(start, end)| end <= start || end - start > LONGEST) {
            return Err("chunks are empty, too long or out of order");
        }
        let mut lengths = HashMap::new();
        if self
            .chunks()
            .any(|Chunk { length, sha256, .. }| *lengths.entry(sha256).or_insert(length) != length)
        {
            return Err("chunks with one digest have different lengths");
        }
        self.check_repeats()
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(lengths: &[(u64, u8)]) -> ChunkIndex {
        let mut index = ChunkIndex::default();
        for (length, digit) in lengths {
            assert!(index.push(*length, [*digit; 32]));
        }
        index
    }

    #[test]
    fn an_index_is_what_it_was_made_of() {
        for made in [index(&[]), index(&[(5, 1)]), index(&[(5, 1), (7, 2), (5, 1)])] {
            assert_eq!(ChunkIndex::parse(&made.to_bytes()), Ok(made));
        }
        let bytes = index(&[(5, 1), (7, 2)]).to_bytes();
        assert_eq!(bytes.len(), 32 + 2 * 48);
        assert_eq!(
            bytes[..24],
            *b"\xcd\xe4\xec\x67\x01\0\0\0\x0c\0\0\0\0\0\0\0\x02\0\0\0\x01\x20\0\0"
        );
        assert_eq!(bytes[80..97], *b"\x05\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\x02");
    }

    #[test]
    fn an_index_has_no_more_chunks_than_a_manifest_lists() {
        let mut index = ChunkIndex::default();
        assert!((0..MOST).all(|_| index.push(1, [1; 32])));
        assert!(ChunkIndex::parse(&index.to_bytes()).is_ok());
        assert!(!index.push(1, [1; 32]));
        assert_eq!(ChunkIndex::parse(&index.to_bytes()), Err("it has too many chunks"));
    }

    #[test]
    fn ranges_are_covered_and_repeats_are_there_once() {
        let made = index(&[(5, 1), (7, 2), (5, 1)]);
        let covering = |range| made.covering(&range).map(|chunk| chunk.start).collect::<Vec<_>>();
        assert_eq!(covering(0..1), [0]);
        assert_eq!(covering(4..6), [0, 5]);
        assert_eq!(covering(5..12), [5]);
        assert_eq!(covering(11..17), [5, 12]);
        let distinct = made.distinct();
        assert_eq!(distinct.len(), 2);
        assert_eq!((distinct[0].0.length, &*distinct[0].1), (5, &[0, 12][..]));
    }

    /// Changes bytes of a sound index of chunks at 0, 5 and 12.
    fn damaged(at: usize, new: &[u8]) -> Option<&'static str> {
        let mut bytes = index(&[(5, 1), (7, 2), (5, 1)]).to_bytes();
        bytes[at..at + new.len()].copy_from_slice(new);
        ChunkIndex::parse(&bytes).err()
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        let place = |start: u64| [start.to_le_bytes(), start.to_le_bytes()].concat();
        for (at, new, expected) in [
            (0, vec![0], "none"),
            (4, vec![2], "version"),
            (5, vec![1], "compression"),
            (6, vec![1], "flags"),
            (8, vec![12], "out of order"),
            (8, vec![0, 0, 0, 2], "too long"),
            (16, vec![2], "another length"),
            (16, vec![4], "another length"),
            (16, vec![0xff; 4], "too many"),
            (20, vec![0], "SHA-256"),
            (21, vec![64], "SHA-256"),
            (31, vec![1], "SHA-256"),
            // Chunks that overlap, leave a gap, are empty, or are elsewhere.
            (32, place(1), "first chunk"),
            (80, place(12), "out of order"),
            (80, place(13), "out of order"),
            (80, place(0), "out of order"),
            (80, vec![6], "where it belongs"),
            // The chunks at 0 and 5 get one digest.
            (96, vec![1; 32], "different lengths"),
            (16, vec![0; 4], "another length"),
        ] {
            let found = damaged(at, &new);
            assert!(found.is_some_and(|text| text.contains(expected)), "{at} {new:?}: {found:?}");
        }
        assert_eq!(damaged(48, &[9]), None, "any digest may be right");
        let bytes = index(&[(5, 1)]).to_bytes();
        for length in 0..bytes.len() {
            assert!(ChunkIndex::parse(&bytes[..length]).is_err(), "{length}");
        }
        let mut empty = index(&[]).to_bytes();
        empty[8] = 1;
        assert!(ChunkIndex::parse(&empty).is_err());
    }
}
