//! Lists the files of a whole tree with their paths.

use std::collections::HashSet;

use lith_format::{addr::Nid, file_type::FileType};

use crate::{
    dir::ReadDir,
    error::{Corruption, Error, Fault},
    image::Image,
    inode::Inode,
};

/// The most nested directories: no path of Linux' `PATH_MAX` bytes has more names.
const MAX_DEPTH: usize = 2048;

/// Bytes of directories that are read from any image, however small.
const BUDGET_FLOOR: u64 = 64 << 20;

/// Bytes of directories that each stored byte justifies: directories may be compressed or share blocks.
const BUDGET_FACTOR: u64 = 16;

/// A file of any kind, found by [`Files`].
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FileEntry {
    /// The path from the first directory on, without a slash at either end.
    pub path: Vec<u8>,
    /// The inode. Symlinks are not followed.
    pub inode: Inode,
}

/// The files of all kinds below a directory: each after the directory that it is in, otherwise in the order of the
/// stored entries, which is that of the names' bytes.
///
/// A file that can't be read is an [`Error::File`] in its place; the files after it follow. A directory that is reached
/// a second time is such an error and not entered, and the sizes of all directories have a limit, so the list of any
/// image ends. Memory: a block for each open directory, of which there are at most 2,048, and a number for each
/// directory entered.
///
/// ```
/// use lith_reader::Image;
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/03-lz4.erofs");
/// let image = Image::open_path(path)?;
/// let mut bytes = 0;
/// for entry in image.files() {
///     let entry = entry?;
///     println!("{:>9} {}", entry.inode.size, String::from_utf8_lossy(&entry.path));
///     bytes += entry.inode.size;
/// }
/// assert!(bytes > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Files<'a> {
    image: &'a Image,
    /// The open directories, outermost first.
    stack: Vec<Level<'a>>,
    /// The path of the innermost open directory.
    path: Vec<u8>,
    /// The directory to open next: the first one, or the entry returned last.
    next: Option<Entering>,
    entered: HashSet<Nid>,
    /// Bytes of directories that may still be opened.
    budget: u64,
    budget_total: u64,
}

#[derive(Debug)]
struct Level<'a> {
    entries: ReadDir<'a>,
    /// The length of the path without this directory.
    parent_len: usize,
}

#[derive(Debug)]
enum Entering {
    Root,
    Below(Inode),
    Child { directory: Inode, name: Vec<u8> },
}

impl Image {
    /// The files below the root. What prevents reading the root is the first item.
    #[must_use]
    pub fn files(&self) -> Files<'_> {
        Files::new(self, Entering::Root)
    }

    /// The files below a directory; their paths begin there.
    #[must_use]
    pub fn files_below(&self, directory: &Inode) -> Files<'_> {
        Files::new(self, Entering::Below(*directory))
    }

    /// Bytes of directories that an image of this size justifies.
    fn directory_budget(&self) -> u64 {
        let special = [self.packed_inode(), self.metabox_inode()].into_iter().flatten();
        let special = special.fold(0, |sum: u64, inode| sum.saturating_add(inode.size));
        let devices = 0..=self.superblock().extra_devices;
        let stored =
            devices.fold(special, |sum, device| sum.saturating_add(self.device_size(device)));
        stored.saturating_mul(BUDGET_FACTOR).saturating_add(BUDGET_FLOOR)
    }
}

impl<'a> Files<'a> {
    fn new(image: &'a Image, first: Entering) -> Self {
        let budget = image.directory_budget();
        Self {
            image,
            stack: Vec::new(),
            path: Vec::new(),
            next: Some(first),
            entered: HashSet::new(),
            budget,
            budget_total: budget,
        }
    }

    /// Skips what is below the directory returned last.
    pub fn skip_below(&mut self) {
        if !self.stack.is_empty() {
            self.next = None;
        }
    }

    fn enter(&mut self, entering: Entering) -> Result<(), Error> {
        let (directory, name) = match entering {
            Entering::Root => (self.image.root()?, Vec::new()),
            Entering::Below(directory) => (directory, Vec::new()),
            Entering::Child { directory, name } => (directory, name),
        };
        let opened = self.open(&directory);
        let entries = opened.map_err(|error| in_file(self.path_of(&name), error))?;
        let path = self.path_of(&name);
        self.stack.push(Level { entries, parent_len: self.path.len() });
        self.path = path;
        Ok(())
    }

    fn open(&mut self, directory: &Inode) -> Result<ReadDir<'a>, Error> {
        let corrupt = |corruption: Corruption| Fault::from(corruption).of(directory.nid);
        if self.stack.len() >= MAX_DEPTH {
            return Err(corrupt(Corruption::DirectoryDepth { limit: MAX_DEPTH }));
        }
        if !self.entered.insert(directory.nid) {
            return Err(corrupt(Corruption::DirectoryTwice));
        }
        let entries = self.image.read_dir(directory)?;
        let left = self.budget.checked_sub(directory.size);
        let limit = self.budget_total;
        self.budget = left.ok_or_else(|| corrupt(Corruption::DirectoryBytes { limit }))?;
        Ok(entries)
    }

    fn path_of(&self, name: &[u8]) -> Vec<u8> {
        let separator: &[u8] = if self.path.is_empty() { b"" } else { b"/" };
        [&self.path, separator, name].concat()
    }

    fn step(&mut self) -> Result<Option<FileEntry>, Error> {
        if let Some(entering) = self.next.take() {
            self.enter(entering)?;
        }
        while let Some(level) = self.stack.last_mut() {
            let entry = level.entries.next().transpose();
            let Some(entry) = entry.map_err(|error| in_file(self.path.clone(), error))? else {
                self.path.truncate(level.parent_len);
                self.stack.pop();
                continue;
            };
            let path = self.path_of(&entry.name);
            let inode = match self.image.inode(entry.nid) {
                Ok(inode) => inode,
                Err(error) => return Err(in_file(path, error)),
            };
            if inode.file_type == FileType::Directory {
                self.next = Some(Entering::Child { directory: inode, name: entry.name });
            }
            return Ok(Some(FileEntry { path, inode }));
        }
        Ok(None)
    }
}

/// The error with the path of the file that it concerns; the first directory has none.
fn in_file(path: Vec<u8>, error: Error) -> Error {
    if path.is_empty() { error } else { Error::File { path, source: Box::new(error) } }
}

impl Iterator for Files<'_> {
    type Item = Result<FileEntry, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}

impl std::iter::FusedIterator for Files<'_> {}
