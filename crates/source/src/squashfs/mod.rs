//! How does a SquashFS image become a tree? Defines [`squashfs`], which walks it.

mod attributes;
mod contents;
mod error;

use std::{collections::HashMap, path::Path, vec};

use lith_device::ReadAt;
use lith_squashfs::{Entry, Error, Inode, InodeAddress, Kind as Stored, SquashFs};
use lith_tree::{InodeIndex, Kind, Metadata, Name, Rdev, Tree, TreeError, push_name};

use crate::{
    NoteKind, OnError, Options, Source, SourceError,
    note::Notes,
    prune::{Fate, remove_empty},
};
use attributes::Attributes;
use contents::{Place, SquashContents};
pub use error::SquashFsError;

/// Reads the tree of the SquashFS image at the beginning of a device; `path` is its name in errors.
///
/// # Errors
/// [`SourceError::SquashFs`] names the first file that can't be read or is corrupt.
pub fn squashfs(
    device: impl ReadAt + 'static,
    path: &Path,
    options: &Options,
) -> Result<Source, SourceError> {
    let failed = |source| SourceError::SquashFs { path: path.to_owned(), source };
    let image = SquashFs::open(device).map_err(|source| failed(SquashFsError::Open { source }))?;
    let mut walker = Walker::new(&image, options).map_err(failed)?;
    walker.walk().map_err(failed)?;
    let Walker { tree, places, notes, .. } = walker;
    let contents = Box::new(SquashContents { image, places, path: path.to_owned() });
    Ok(Source { tree, contents, notes: notes.into_vec() })
}

/// A directory whose entries are being added.
struct Level {
    directory: InodeIndex,
    fate: Fate,
    /// The length of its path.
    path: usize,
    entries: vec::IntoIter<Entry>,
}

struct Walker<'a> {
    image: &'a SquashFs,
    options: &'a Options,
    tree: Tree,
    /// By inode.
    places: Vec<Place>,
    /// The inodes visited so far.
    known: HashMap<InodeAddress, InodeIndex>,
    stack: Vec<Level>,
    /// The path of the file being added: one for all levels, because a chain of directories can be long.
    path: Vec<u8>,
    /// Directories that are left out if they are empty.
    provisional: Vec<InodeIndex>,
    attributes: Attributes,
    notes: Notes,
    /// What listings of directories and targets of symlinks may still take.
    left: Left,
}

/// Bytes that may still be read: as many as are in the tables if nothing is read twice. Without this, parts that overlap could
/// make a small image a tree of any size.
struct Left {
    listings: u64,
    targets: u64,
}

fn take(left: &mut u64, bytes: u64) -> Result<(), SquashFsError> {
    *left = left.checked_sub(bytes).ok_or(SquashFsError::Overlap)?;
    Ok(())
}

impl<'a> Walker<'a> {
    fn new(image: &'a SquashFs, options: &'a Options) -> Result<Self, SquashFsError> {
        let bytes = image.metadata_bytes();
        let (listings, targets) = bytes.map_err(|source| SquashFsError::Open { source })?;
        Ok(Self {
            image,
            options,
            tree: Tree::new(Metadata::default()),
            places: vec![Place::default()],
            known: HashMap::new(),
            stack: Vec::new(),
            path: Vec::new(),
            provisional: Vec::new(),
            attributes: Attributes::new(options.xattrs),
            notes: Notes::default(),
            left: Left { listings, targets },
        })
    }

    fn walk(&mut self) -> Result<(), SquashFsError> {
        self.set_root()?;
        while let Some(level) = self.stack.last_mut() {
            self.path.truncate(level.path);
            let Some(entry) = level.entries.next() else {
                self.stack.pop();
                continue;
            };
            let (parent, above) = (level.directory, level.fate);
            let named = (&*self.path, &*entry.name);
            let fate = Fate::new(&self.options.exclude, above, named, entry.is_directory);
            if fate != Fate::LeftOut {
                push_name(&mut self.path, &entry.name);
                self.add_or_note((parent, fate), &entry)?;
            }
        }
        remove_empty(&mut self.tree, &self.provisional);
        Ok(())
    }

    fn set_root(&mut self) -> Result<(), SquashFsError> {
        let address = self.image.root();
        let inode = self.image.inode(address).map_err(self.cannot_read())?;
        if !matches!(inode.kind, Stored::Directory(_)) {
            return Err(SquashFsError::Root);
        }
        self.known.insert(address, InodeIndex::ROOT);
        let metadata = self.metadata(&inode)?;
        self.tree.get_mut(InodeIndex::ROOT).metadata = metadata;
        self.descend((InodeIndex::ROOT, Fate::Taken), &inode)
    }

    /// Adds the last name of the path. What can't be read is left out, if the options say so.
    fn add_or_note(&mut self, at: (InodeIndex, Fate), entry: &Entry) -> Result<(), SquashFsError> {
        match self.add(at, entry) {
            Err(error) if self.options.on_error == OnError::Skip && error.is_local() => {
                self.notes.add_unreadable(&self.path, error.reason());
                Ok(())
            }
            added => added,
        }
    }

    /// Adds the last name of the path, of a file with a fate, and descends into a new directory.
    fn add(
        &mut self,
        (parent, fate): (InodeIndex, Fate),
        entry: &Entry,
    ) -> Result<(), SquashFsError> {
        let path = || self.path.clone();
        let name = Name::new(&entry.name);
        let name = name.map_err(|source| SquashFsError::Name { path: path(), source })?;
        let known = self.known.get(&entry.inode).copied();
        if let Some(known) = known
            && self.tree.get(known).as_directory().is_some()
        {
            let (first, second) = (self.tree.path(known), path());
            return Err(SquashFsError::DirectoryTwice { first, second });
        }
        if let Some(known) = known.filter(|_| !self.options.dereference_hard_links) {
            return self.tree.link(parent, name, known).map_err(self.not_added());
        }
        let inode = self.image.inode(entry.inode).map_err(self.cannot_read())?;
        self.add_inode((parent, fate), (name, entry.inode), &inode)
    }

    /// Adds a new inode by the last name of the path.
    fn add_inode(
        &mut self,
        (parent, fate): (InodeIndex, Fate),
        (name, address): (Name, InodeAddress),
        inode: &Inode,
    ) -> Result<(), SquashFsError> {
        let is_directory = matches!(inode.kind, Stored::Directory(_));
        if fate == Fate::Provisional && !is_directory {
            return Ok(());
        }
        if let Stored::Symlink(target) = &inode.kind {
            take(&mut self.left.targets, target.len() as u64)?;
        }
        let metadata = self.metadata(inode)?;
        let added = self.tree.add(parent, name, metadata, kind(&inode.kind));
        let index = added.map_err(self.not_added())?;
        self.places.push(Place::new(address, &inode.kind));
        self.known.insert(address, index);
        if is_directory {
            self.provisional.extend((fate == Fate::Provisional).then_some(index));
            self.descend((index, fate), inode)?;
        }
        Ok(())
    }

    fn descend(
        &mut self,
        (directory, fate): (InodeIndex, Fate),
        inode: &Inode,
    ) -> Result<(), SquashFsError> {
        if let Stored::Directory(listing) = &inode.kind {
            take(&mut self.left.listings, listing.size().into())?;
        }
        let mut entries = self.image.entries(inode).map_err(self.cannot_read())?;
        // They are sorted already, unless the image is corrupt.
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let path = self.path.len();
        self.stack.push(Level { directory, fate, path, entries: entries.into_iter() });
        Ok(())
    }

    fn metadata(&mut self, inode: &Inode) -> Result<Metadata, SquashFsError> {
        let Self { image, tree, attributes, notes, path, .. } = self;
        let read = attributes.set(image, inode.xattrs, &mut tree.xattrs, path)?;
        for name in read.left_out {
            notes.add(NoteKind::Xattr(name), path);
        }
        Ok(attributes::metadata(inode, read.set))
    }

    fn cannot_read(&self) -> impl FnOnce(Error) -> SquashFsError + use<> {
        let path = self.path.clone();
        |source| SquashFsError::Read { path, source }
    }

    fn not_added(&self) -> impl FnOnce(TreeError) -> SquashFsError + use<> {
        let path = self.path.clone();
        |source| SquashFsError::Tree { path, source }
    }
}

fn kind(stored: &Stored) -> Kind {
    let rdev = |major: &u32, minor: &u32| Rdev { major: *major, minor: *minor };
    match stored {
        Stored::Directory(_) => Kind::directory(),
        Stored::Regular(regular) => Kind::Regular { size: regular.size },
        Stored::Symlink(target) => Kind::Symlink(target.clone()),
        Stored::BlockDevice(major, minor) => Kind::BlockDevice(rdev(major, minor)),
        Stored::CharDevice(major, minor) => Kind::CharDevice(rdev(major, minor)),
        Stored::Fifo => Kind::Fifo,
        Stored::Socket => Kind::Socket,
    }
}
