//! Reads directories and looks up names in them.

use std::cmp::Ordering;

use lith_format::{
    addr::Nid,
    dirent::{DirBlock, Dirent, DirentError, search_blocks},
    file_type::FileType,
};

use crate::{
    error::{Corruption, Error, Fault},
    image::Image,
    inode::Inode,
    map::Map,
};

/// A name in a directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DirEntry {
    /// The name, of 1 to 255 bytes without slash and NUL.
    pub name: Vec<u8>,
    /// The inode that it leads to.
    pub nid: Nid,
    /// The kind of file stored in the directory, which may differ from the inode's. `None`: an unknown one.
    pub file_type: Option<FileType>,
}

impl DirEntry {
    /// Whether this is `.` or `..`.
    #[must_use]
    pub fn is_dot_or_dot_dot(&self) -> bool {
        matches!(&*self.name, b"." | b"..")
    }
}

impl From<Dirent<'_>> for DirEntry {
    fn from(dirent: Dirent<'_>) -> Self {
        Self { name: dirent.name.to_vec(), nid: dirent.nid, file_type: dirent.file_type() }
    }
}

/// A position between two stored entries of a directory; the default one precedes the first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct DirPosition {
    /// The block of the next entry.
    pub block: u64,
    /// The next entry's index in that block.
    pub index: u16,
}

#[derive(Debug)]
struct Blocks<'a> {
    image: &'a Image,
    inode: Inode,
    map: Map,
    /// The block that was read last, and its number.
    bytes: Vec<u8>,
    number: Option<u64>,
}

impl<'a> Blocks<'a> {
    fn new(image: &'a Image, inode: &Inode) -> Result<Self, Error> {
        let nid = inode.nid;
        if inode.file_type != FileType::Directory {
            return Err(Error::NotADirectory { nid });
        }
        let (size, limit) = (inode.size, image.limits.directory);
        if size > limit {
            return Err(Fault::from(Corruption::DirectorySize { size, limit }).of(nid));
        }
        let map = Map::of(image, inode).map_err(|fault| fault.of(nid))?;
        Ok(Self { image, inode: *inode, map, bytes: Vec::new(), number: None })
    }

    fn count(&self) -> u64 {
        self.image.superblock.block.blocks_for(self.inode.size)
    }

    fn load(&mut self, number: u64) -> Result<DirBlock<'_>, Fault> {
        if self.number != Some(number) {
            let size = u64::from(self.image.superblock.block.size());
            let position = number.saturating_mul(size);
            let length = self.inode.size.saturating_sub(position).min(size);
            self.number = None;
            self.bytes.resize(usize::try_from(length).expect("a block has at most 64 KiB"), 0);
            let content = self.image.content_of(&self.inode, &self.map);
            content.read(&mut self.bytes, position)?;
            self.number = Some(number);
        }
        in_block(number, DirBlock::parse(&self.bytes))
    }

    fn compare_first(&mut self, number: u64, name: &[u8]) -> Result<Ordering, Fault> {
        in_block(number, self.load(number)?.compare_first(name))
    }

    fn find(&mut self, name: &[u8]) -> Result<Option<DirEntry>, Fault> {
        let count = self.count();
        let Some(number) = search_blocks(count, |number| self.compare_first(number, name))? else {
            return Ok(None);
        };
        let found = in_block(number, self.load(number)?.find(name))?;
        Ok(found.map(DirEntry::from))
    }

    fn entry(&mut self, number: u64, index: usize) -> Result<Option<DirEntry>, Fault> {
        let dirent = in_block(number, self.load(number)?.get(index))?;
        Ok(dirent.map(DirEntry::from))
    }
}

fn in_block<T>(block: u64, result: Result<T, DirentError>) -> Result<T, Fault> {
    Ok(result.map_err(|source| Corruption::Directory { block, source })?)
}

/// The entries of a directory in stored order, read block by block. Ends after an error.
#[derive(Debug)]
pub struct ReadDir<'a> {
    blocks: Blocks<'a>,
    next: DirPosition,
    dots: bool,
}

impl ReadDir<'_> {
    /// Includes `.` and `..` as far as they are stored: a directory may omit `.`.
    #[must_use]
    pub const fn with_dots(mut self) -> Self {
        self.dots = true;
        self
    }

    /// Continues at a position, without reading what precedes it. A position that [`Self::position`] never returned
    /// leads to any entries of the directory, or to none.
    #[must_use]
    pub const fn starting_at(mut self, position: DirPosition) -> Self {
        self.next = position;
        self
    }

    /// The position of the next entry.
    #[must_use]
    pub const fn position(&self) -> DirPosition {
        self.next
    }

    fn step(&mut self) -> Result<Option<DirEntry>, Fault> {
        while self.next.block < self.blocks.count() {
            let DirPosition { block, index } = self.next;
            let Some(entry) = self.blocks.entry(block, index.into())? else {
                self.next = DirPosition { block: block + 1, index: 0 };
                continue;
            };
            // Fewer than 5,461 entries fit into the largest block.
            self.next.index = index.saturating_add(1);
            if self.dots || !entry.is_dot_or_dot_dot() {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }
}

impl Iterator for ReadDir<'_> {
    type Item = Result<DirEntry, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step();
        if step.is_err() {
            self.next.block = u64::MAX;
        }
        step.map_err(|fault| fault.of(self.blocks.inode.nid)).transpose()
    }
}

impl std::iter::FusedIterator for ReadDir<'_> {}

impl Image {
    /// The entries of a directory, without `.` and `..` unless requested ([`ReadDir::with_dots`]).
    ///
    /// # Errors
    /// [`Error::NotADirectory`], or [`Error::Corrupt`] if its map makes no sense.
    pub fn read_dir(&self, directory: &Inode) -> Result<ReadDir<'_>, Error> {
        let blocks = Blocks::new(self, directory)?;
        Ok(ReadDir { blocks, next: DirPosition::default(), dots: false })
    }

    /// The entry of a directory with this name, by binary search: as on Linux, some names of an unsorted directory are
    /// not found.
    ///
    /// # Errors
    /// [`Error::NotADirectory`], [`Error::Corrupt`], or [`Error::Device`].
    pub fn lookup(
        &self,
        directory: &Inode,
        name: impl AsRef<[u8]>,
    ) -> Result<Option<DirEntry>, Error> {
        let name = name.as_ref();
        let mut blocks = Blocks::new(self, directory)?;
        if name == b"." && directory.dot_omitted {
            let (nid, file_type) = (directory.nid, Some(FileType::Directory));
            return Ok(Some(DirEntry { name: name.to_vec(), nid, file_type }));
        }
        blocks.find(name).map_err(|fault| fault.of(directory.nid))
    }
}
