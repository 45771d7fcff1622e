//! Which names does a whole tree have?

use std::collections::HashSet;

use lith_format::{addr::Nid, file_type::FileType};

use crate::{
    dir::ReadDir,
    error::{Corruption, Error, Fault},
    image::Image,
    inode::Inode,
};

/// The most directories in one another that are walked through: Linux' `PATH_MAX` has room for no more names.
const MAX_DEPTH: usize = 2048;

/// A name met on a [`Walk`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Visit {
    /// The path from where the walk began, without a slash at either end.
    pub path: Vec<u8>,
    /// The inode that it leads to. Symlinks are not followed.
    pub inode: Inode,
}

/// The tree below a directory: each name after that of its directory, otherwise in the order in which they are stored,
/// which is that of their bytes.
///
/// What can't be read comes as an error in its place; the walk goes on behind it. A directory that is reached a second
/// time is an error and not entered, so every walk ends. Held are one block for each directory on the way, of which there
/// may be 2,048, and a number for each directory that was entered.
///
/// ```
/// use lith_device::FileDevice;
/// use lith_reader::Image;
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/03-lz4.erofs");
/// let image = Image::open(FileDevice::open(path.as_ref())?)?;
/// let mut bytes = 0;
/// for visit in image.walk()? {
///     let visit = visit?;
///     println!("{:>9} {}", visit.inode.size, String::from_utf8_lossy(&visit.path));
///     bytes += visit.inode.size;
/// }
/// assert!(bytes > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Walk<'a> {
    image: &'a Image,
    /// The directories on the way, outermost first.
    stack: Vec<Level<'a>>,
    /// The path of the directory that is read.
    path: Vec<u8>,
    /// The directory that was told last, if it is still to be entered.
    next: Option<Entering>,
    entered: HashSet<Nid>,
}

#[derive(Debug)]
struct Level<'a> {
    entries: ReadDir<'a>,
    /// The length of the path without this directory.
    outside: usize,
}

#[derive(Debug)]
struct Entering {
    directory: Inode,
    name: Vec<u8>,
}

impl Image {
    /// Everything below the root.
    ///
    /// # Errors
    /// As [`Self::root`] and [`Self::read_dir`].
    pub fn walk(&self) -> Result<Walk<'_>, Error> {
        self.walk_below(&self.root()?)
    }

    /// Everything below a directory.
    ///
    /// # Errors
    /// As [`Self::read_dir`].
    pub fn walk_below(&self, directory: &Inode) -> Result<Walk<'_>, Error> {
        let entries = self.read_dir(directory)?;
        Ok(Walk {
            image: self,
            stack: vec![Level { entries, outside: 0 }],
            path: Vec::new(),
            next: None,
            entered: HashSet::from([directory.nid]),
        })
    }
}

impl Walk<'_> {
    /// Leaves out what is below the directory that was told last.
    pub fn skip_below(&mut self) {
        self.next = None;
    }

    fn enter(&mut self, Entering { directory, name }: Entering) -> Result<(), Error> {
        let refused = if self.stack.len() >= MAX_DEPTH {
            Some(Corruption::DirectoryDepth { limit: MAX_DEPTH })
        } else if !self.entered.insert(directory.nid) {
            Some(Corruption::DirectoryTwice)
        } else {
            None
        };
        if let Some(corruption) = refused {
            return Err(Fault::from(corruption).of(directory.nid));
        }
        let entries = self.image.read_dir(&directory)?;
        self.stack.push(Level { entries, outside: self.path.len() });
        self.path = self.below(&name);
        Ok(())
    }

    fn below(&self, name: &[u8]) -> Vec<u8> {
        let separator: &[u8] = if self.path.is_empty() { b"" } else { b"/" };
        [&self.path, separator, name].concat()
    }

    fn step(&mut self) -> Result<Option<Visit>, Error> {
        if let Some(entering) = self.next.take() {
            self.enter(entering)?;
        }
        while let Some(level) = self.stack.last_mut() {
            let Some(entry) = level.entries.next().transpose()? else {
                self.path.truncate(level.outside);
                self.stack.pop();
                continue;
            };
            let inode = self.image.inode(entry.nid)?;
            let path = self.below(&entry.name);
            if inode.file_type == FileType::Directory {
                self.next = Some(Entering { directory: inode, name: entry.name });
            }
            return Ok(Some(Visit { path, inode }));
        }
        Ok(None)
    }
}

impl Iterator for Walk<'_> {
    type Item = Result<Visit, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}

impl std::iter::FusedIterator for Walk<'_> {}
