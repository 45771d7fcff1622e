//! Trees too large for a test to store: their bytes are computed when they are read.

use lith::tree::{
    Content, ContentError, Contents, DataRange, InodeIndex, Kind, Metadata, Name, Timestamp, Tree,
};

use crate::noise::{self, Texture};

/// Bytes of the block that a large file repeats, with changes.
const UNIT: usize = 64 << 10;

/// Contents of files whose bytes follow from the number of their inode.
#[derive(Debug)]
pub struct Synthetic {
    unit: Vec<u8>,
    /// Every other so many bytes of a file are a hole; 0 for none.
    hole: u64,
}

/// A tree of a single file of `size` bytes; every other GiB is a hole.
#[must_use]
pub fn one_file(size: u64) -> (Tree, Synthetic) {
    let mut tree = Tree::new(metadata(0));
    tree.add(InodeIndex::ROOT, Name::new(b"large").unwrap(), metadata(1), Kind::Regular { size })
        .unwrap();
    (tree, Synthetic { unit: noise::bytes(Texture::Text, 1, UNIT), hole: 1 << 30 })
}

/// A tree of so many small files, a thousand in each directory.
#[must_use]
pub fn many_files(count: u32) -> (Tree, Synthetic) {
    let mut tree = Tree::new(metadata(0));
    let mut directory = InodeIndex::ROOT;
    for number in 0..count {
        if number % 1000 == 0 {
            let name = Name::new(format!("folder-{:05}", number / 1000).as_bytes()).unwrap();
            directory =
                tree.add(InodeIndex::ROOT, name, metadata(number), Kind::directory()).unwrap();
        }
        let name = Name::new(format!("file-{number:07}.txt").as_bytes()).unwrap();
        let size = u64::from(number.wrapping_mul(2_654_435_761) % 900);
        tree.add(directory, name, metadata(number), Kind::Regular { size }).unwrap();
    }
    (tree, Synthetic { unit: noise::bytes(Texture::Text, 1, UNIT), hole: 0 })
}

/// A tree of so many files in one directory, each of `size` bytes.
#[must_use]
pub fn equal_files(count: u32, size: u64) -> (Tree, Synthetic) {
    let mut tree = Tree::new(metadata(0));
    for number in 0..count {
        let name = Name::new(format!("file-{number:03}").as_bytes()).unwrap();
        tree.add(InodeIndex::ROOT, name, metadata(number), Kind::Regular { size }).unwrap();
    }
    (tree, Synthetic { unit: noise::bytes(Texture::Text, 1, UNIT), hole: 0 })
}

fn metadata(number: u32) -> Metadata {
    let mtime = Timestamp { sec: 1_700_000_000 + i64::from(number), nsec: number };
    Metadata { permissions: 0o644, uid: 0, gid: 0, mtime, ..Metadata::default() }
}

impl Contents for Synthetic {
    fn open(&self, tree: &Tree, inode: InodeIndex) -> Result<Box<dyn Content + '_>, ContentError> {
        let Kind::Regular { size } = tree.get(inode).kind else { panic!("not a regular file") };
        Ok(Box::new(SyntheticContent {
            unit: &self.unit,
            hole: self.hole,
            size,
            seed: inode.index() as u64,
        }))
    }
}

struct SyntheticContent<'a> {
    unit: &'a [u8],
    hole: u64,
    size: u64,
    seed: u64,
}

impl SyntheticContent<'_> {
    fn is_hole(&self, position: u64) -> bool {
        self.hole != 0 && position / self.hole % 2 == 1
    }

    /// Fills bytes of one unit, from `within` it on: the unit, with its number at its start.
    fn fill(&self, buf: &mut [u8], number: u64, within: usize) {
        buf.copy_from_slice(&self.unit[within..within + buf.len()]);
        let label = (number ^ self.seed << 40).to_le_bytes();
        for (byte, label) in buf.iter_mut().zip(label.iter().skip(within)) {
            *byte = *label;
        }
    }
}

impl Content for SyntheticContent<'_> {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), ContentError> {
        assert!(position + buf.len() as u64 <= self.size, "a read beyond the end");
        let (mut position, mut rest) = (position, buf);
        while !rest.is_empty() {
            let (number, within) = (position / UNIT as u64, (position % UNIT as u64) as usize);
            let length = rest.len().min(UNIT - within);
            let (part, behind) = rest.split_at_mut(length);
            if self.is_hole(position) {
                part.fill(0);
            } else {
                self.fill(part, number, within);
            }
            (position, rest) = (position + length as u64, behind);
        }
        Ok(())
    }

    fn range_at(&self, position: u64) -> Result<DataRange, ContentError> {
        if self.hole == 0 {
            return Ok(DataRange::Data { end: self.size });
        }
        let end = (position / self.hole + 1).saturating_mul(self.hole).min(self.size);
        Ok(if self.is_hole(position) { DataRange::Hole { end } } else { DataRange::Data { end } })
    }

    fn check_unchanged(&self) -> Result<(), ContentError> {
        Ok(())
    }
}
