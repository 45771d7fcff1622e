//! How do listings become a tree?

use std::{collections::HashMap, vec};

use lith_tree::{InodeIndex, Kind, Metadata, Name, Tree, TreeError};

use super::scan::{Entry, EntryKind, Listing};
use crate::seen::Seen;

/// Why listings are no tree: the path at fault, from the root, and the reason.
pub(super) type AssembleError = (Vec<u8>, TreeError);

/// A directory whose entries are being added.
struct Level {
    directory: InodeIndex,
    entries: vec::IntoIter<Entry>,
    first_child: usize,
}

/// Adds listings to a tree, in the order of the tree's walk.
struct Assembler {
    tree: Tree,
    seen: Vec<Seen>,
    listings: Vec<Listing>,
    stack: Vec<Level>,
    /// The inodes that have several names, by device and inode number.
    shared: HashMap<(u64, u64), InodeIndex>,
}

/// Makes the tree, and what was seen of each inode, from the root's attributes and all listings.
pub(super) fn assemble(
    root: Metadata,
    listings: Vec<Listing>,
) -> Result<(Tree, Vec<Seen>), AssembleError> {
    let mut assembler = Assembler {
        tree: Tree::new(root),
        seen: vec![Seen::default()],
        listings,
        stack: Vec::new(),
        shared: HashMap::new(),
    };
    assembler.descend(InodeIndex::ROOT, 0);
    while let Some(level) = assembler.stack.last_mut() {
        match level.entries.next() {
            Some(entry) => {
                let (parent, first_child) = (level.directory, level.first_child);
                assembler.add(parent, first_child, entry)?;
            }
            None => drop(assembler.stack.pop()),
        }
    }
    Ok((assembler.tree, assembler.seen))
}

impl Assembler {
    fn descend(&mut self, directory: InodeIndex, listing: usize) {
        let Some(listing) = self.listings.get_mut(listing).map(std::mem::take) else {
            return;
        };
        self.tree.get_mut(directory).metadata.xattrs = self.tree.xattrs.intern(listing.xattrs);
        self.stack.push(Level {
            directory,
            entries: listing.entries.into_iter(),
            first_child: listing.first_child,
        });
    }

    fn add(
        &mut self,
        parent: InodeIndex,
        first_child: usize,
        entry: Entry,
    ) -> Result<(), AssembleError> {
        let name = entry.name.clone();
        let subdirectory = match entry.kind {
            EntryKind::Directory(number) => Some(first_child + number),
            _ => None,
        };
        let inode = self.enter(parent, entry).map_err(|error| (self.path(parent, &name), error))?;
        if let Some(listing) = subdirectory {
            self.descend(inode, listing);
        }
        Ok(())
    }

    /// Adds an inode, or a name to one that is there.
    fn enter(&mut self, parent: InodeIndex, entry: Entry) -> Result<InodeIndex, TreeError> {
        if let Some(inode) = entry.shared.and_then(|id| self.shared.get(&id)) {
            self.tree.link(parent, entry.name, *inode)?;
            return Ok(*inode);
        }
        let metadata = Metadata { xattrs: self.tree.xattrs.intern(entry.xattrs), ..entry.metadata };
        let inode = self.tree.add(parent, entry.name, metadata, entry.kind.into())?;
        self.seen.push(entry.seen);
        if let Some(id) = entry.shared {
            self.shared.insert(id, inode);
        }
        Ok(inode)
    }

    fn path(&self, parent: InodeIndex, name: &Name) -> Vec<u8> {
        let mut path = self.tree.path(parent);
        crate::exclude::push_name(&mut path, name.as_bytes());
        path
    }
}

impl From<EntryKind> for Kind {
    fn from(kind: EntryKind) -> Self {
        match kind {
            EntryKind::Directory(_) => Self::directory(),
            EntryKind::Regular { size } => Self::Regular { size },
            EntryKind::Symlink(target) => Self::Symlink(target),
            EntryKind::CharDevice(rdev) => Self::CharDevice(rdev),
            EntryKind::BlockDevice(rdev) => Self::BlockDevice(rdev),
            EntryKind::Fifo => Self::Fifo,
            EntryKind::Socket => Self::Socket,
        }
    }
}
