//! Defines [`MemoryContents`], contents that are held in memory.

use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
};

use crate::{
    Content, ContentError, Contents, DataRange, InodeIndex, Kind, Metadata, Name, Tree, TreeError,
};

/// The bytes of a tree's regular files, all in memory: for trees made by a program, and for tests.
///
/// A regular file for which nothing was inserted is a single hole of its size.
#[derive(Clone, Debug, Default)]
pub struct MemoryContents {
    files: HashMap<InodeIndex, File>,
}

#[derive(Clone, Debug, Default)]
struct File {
    size: u64,
    /// Stretches of data by their position, without overlaps; holes are between them.
    data: BTreeMap<u64, Box<[u8]>>,
}

impl MemoryContents {
    /// Sets the bytes of a file, without holes. Its size in the tree must be the same.
    pub fn insert(&mut self, inode: InodeIndex, bytes: impl Into<Box<[u8]>>) {
        let bytes = bytes.into();
        let size = bytes.len() as u64;
        let data = BTreeMap::from([(0, bytes)]);
        self.files.insert(inode, File { size, data });
    }

    /// Sets a file's size and its stretches of data, each with its position; all else is holes.
    ///
    /// The stretches must be in ascending order. One that overlaps the one before it or ends after `size` is left out.
    pub fn insert_sparse<'a>(
        &mut self,
        inode: InodeIndex,
        size: u64,
        stretches: impl IntoIterator<Item = (u64, &'a [u8])>,
    ) {
        let mut file = File { size, ..File::default() };
        let mut free = 0;
        for (position, bytes) in stretches {
            let end = position.saturating_add(bytes.len() as u64);
            if position >= free && end <= size {
                file.data.insert(position, bytes.into());
                free = end;
            }
        }
        self.files.insert(inode, file);
    }

    /// Adds a regular file to `tree` together with its bytes.
    ///
    /// # Errors
    /// As [`Tree::add`].
    pub fn add(
        &mut self,
        tree: &mut Tree,
        (parent, name): (InodeIndex, Name),
        metadata: Metadata,
        bytes: impl Into<Box<[u8]>>,
    ) -> Result<InodeIndex, TreeError> {
        let bytes = bytes.into();
        let size = bytes.len() as u64;
        let inode = tree.add(parent, name, metadata, Kind::Regular { size })?;
        self.insert(inode, bytes);
        Ok(inode)
    }
}

/// Why bytes can't be read from memory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The inode is not a regular file.
    #[error("not a regular file")]
    NotRegular,
    /// Bytes past the end were requested.
    #[error("bytes {start} to {end} requested, but its size is {size}")]
    PastEnd {
        /// The first byte requested.
        start: u64,
        /// The first byte after them.
        end: u64,
        /// The file's size in bytes.
        size: u64,
    },
}

static EMPTY: BTreeMap<u64, Box<[u8]>> = BTreeMap::new();

impl Contents for MemoryContents {
    fn open(&self, tree: &Tree, inode: InodeIndex) -> Result<Box<dyn Content + '_>, ContentError> {
        let path = lith_system::path(&tree.path(inode)).to_owned();
        let Kind::Regular { size } = tree.get(inode).kind else {
            let source = MemoryError::NotRegular.into();
            return Err(ContentError::Damaged { path, source });
        };
        let data = match self.files.get(&inode) {
            Some(file) if file.size != size => {
                let what = format!("size {}, was {size}", file.size);
                return Err(ContentError::Changed { path, what });
            }
            file => file.map_or(&EMPTY, |file| &file.data),
        };
        Ok(Box::new(MemoryContent { path, size, data }))
    }
}

struct MemoryContent<'a> {
    path: PathBuf,
    size: u64,
    data: &'a BTreeMap<u64, Box<[u8]>>,
}

impl MemoryContent<'_> {
    fn check_inside(&self, start: u64, end: u64) -> Result<(), ContentError> {
        if end <= self.size {
            return Ok(());
        }
        let size = self.size;
        Err(ContentError::Damaged {
            path: self.path.clone(),
            source: MemoryError::PastEnd { start, end, size }.into(),
        })
    }

    /// The last stretch that starts at or before `position`.
    fn stretch_before(&self, position: u64) -> Option<(u64, &[u8])> {
        let (start, bytes) = self.data.range(..=position).next_back()?;
        Some((*start, bytes))
    }
}

impl Content for MemoryContent<'_> {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), ContentError> {
        let end = position.saturating_add(buf.len() as u64);
        self.check_inside(position, end)?;
        buf.fill(0);
        let first = self.stretch_before(position).map_or(position, |(start, _)| start);
        for (start, bytes) in self.data.range(first..end) {
            copy_overlap(buf, position, bytes, *start);
        }
        Ok(())
    }

    fn range_at(&self, position: u64) -> Result<DataRange, ContentError> {
        self.check_inside(position, position.saturating_add(1))?;
        if let Some((start, bytes)) = self.stretch_before(position) {
            let end = start + bytes.len() as u64;
            if end > position {
                return Ok(DataRange::Data { end });
            }
        }
        let next = self.data.range(position..).next();
        let end = next.map_or(self.size, |(start, _)| *start);
        Ok(DataRange::Hole { end })
    }

    fn check_unchanged(&self) -> Result<(), ContentError> {
        Ok(())
    }
}

/// Copies the part that two stretches of one file have in common.
fn copy_overlap(to: &mut [u8], to_start: u64, from: &[u8], from_start: u64) {
    let start = to_start.max(from_start);
    // A stretch that ends before the other starts has nothing in common with it.
    let skip = |own: u64| usize::try_from(start - own).unwrap_or(usize::MAX);
    let to = to.get_mut(skip(to_start)..).unwrap_or_default();
    let from = from.get(skip(from_start)..).unwrap_or_default();
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sparse() -> (Tree, MemoryContents, InodeIndex) {
        let mut tree = Tree::new(Metadata::default());
        let kind = Kind::Regular { size: 20 };
        let name = Name::new(b"f").unwrap();
        let file = tree.add(InodeIndex::ROOT, name, Metadata::default(), kind).unwrap();
        let mut contents = MemoryContents::default();
        contents.insert_sparse(file, 20, [(3, &b"abc"[..]), (6, b"de"), (12, b"fgh")]);
        (tree, contents, file)
    }

    #[test]
    fn reads_any_part() {
        let (tree, contents, file) = sparse();
        let content = contents.open(&tree, file).unwrap();
        let whole = b"\0\0\0abcde\0\0\0\0fgh\0\0\0\0\0";
        for start in 0..=20 {
            for end in start..=20 {
                let mut buffer = vec![0xff; end - start];
                content.read_at(&mut buffer, start as u64).unwrap();
                assert_eq!(buffer, whole[start..end], "{start}..{end}");
            }
        }
        assert!(content.read_at(&mut [0], 20).is_err());
        assert!(content.range_at(20).is_err());
    }

    #[test]
    fn ranges_tile_the_file() {
        let (tree, contents, file) = sparse();
        let content = contents.open(&tree, file).unwrap();
        let mut position = 0;
        let mut ends = Vec::new();
        while position < 20 {
            let (is_data, end) = match content.range_at(position).unwrap() {
                DataRange::Data { end } => (true, end),
                DataRange::Hole { end } => (false, end),
            };
            ends.push((is_data, end));
            position = end;
        }
        let expected = [(false, 3), (true, 6), (true, 8), (false, 12)];
        assert_eq!(ends, [&expected[..], &[(true, 15), (false, 20)]].concat());
    }

    #[test]
    fn sizes_and_types_must_be_those_of_the_tree() {
        let (mut tree, mut contents, file) = sparse();
        contents.insert(file, *b"short");
        assert!(matches!(contents.open(&tree, file), Err(ContentError::Changed { .. })));
        assert!(contents.open(&tree, InodeIndex::ROOT).is_err());
        let place = (InodeIndex::ROOT, Name::new(b"g").unwrap());
        let other = contents.add(&mut tree, place, Metadata::default(), *b"bytes");
        let mut buffer = [0; 5];
        let content = contents.open(&tree, other.unwrap()).unwrap();
        content.read_at(&mut buffer, 0).unwrap();
        assert_eq!(&buffer, b"bytes");
    }
}
