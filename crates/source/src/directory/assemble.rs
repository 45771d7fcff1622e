//! Assembles listings of directories into a tree.

use std::{collections::HashMap, vec};

use lith_tree::{InodeIndex, Kind, Metadata, Name, Tree, TreeError, push_name};

use super::scan::{Entry, Listing};
use crate::{
    prune::{Fate, remove_empty},
    seen::Seen,
};

/// Why listings can't be assembled: the path concerned, from the root, and the reason.
pub(super) type AssembleError = (Vec<u8>, TreeError);

/// A directory whose entries are being added.
struct Level {
    directory: InodeIndex,
    entries: vec::IntoIter<Entry>,
    /// The number of the next subdirectory's listing.
    next_child: usize,
}

/// Adds listings to a tree, in the order of the tree's walk.
struct Assembler {
    tree: Tree,
    seen: Vec<Seen>,
    listings: Vec<Listing>,
    stack: Vec<Level>,
    /// The inodes with several names, by device and inode number.
    shared: HashMap<(u64, u64), InodeIndex>,
    /// Directories that are left out if they are empty.
    provisional: Vec<InodeIndex>,
}

/// Assembles the tree of the root's attributes and all listings. Also returns what was seen of each inode.
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
        provisional: Vec::new(),
    };
    assembler.descend(InodeIndex::ROOT, 0);
    while let Some(level) = assembler.stack.last_mut() {
        match level.entries.next() {
            Some(entry) => {
                let (parent, child) = (level.directory, level.next_child);
                level.next_child += usize::from(matches!(entry.kind, Kind::Directory(_)));
                assembler.add(parent, child, entry)?;
            }
            None => drop(assembler.stack.pop()),
        }
    }
    remove_empty(&mut assembler.tree, &assembler.provisional);
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
            next_child: listing.first_child,
        });
    }

    /// Adds an entry; `listing` is the number of its listing if it is a directory.
    fn add(
        &mut self,
        parent: InodeIndex,
        listing: usize,
        entry: Entry,
    ) -> Result<(), AssembleError> {
        let (name, fate) = (entry.name.clone(), entry.fate);
        let inode = self.enter(parent, entry).map_err(|error| (self.path(parent, &name), error))?;
        if fate == Fate::Provisional {
            self.provisional.push(inode);
        }
        if self.tree.get(inode).as_directory().is_some() {
            self.descend(inode, listing);
        }
        Ok(())
    }

    /// Adds an inode, or a name to an inode that has others.
    fn enter(&mut self, parent: InodeIndex, entry: Entry) -> Result<InodeIndex, TreeError> {
        if let Some(inode) = entry.shared.and_then(|id| self.shared.get(&id)) {
            self.tree.link(parent, entry.name, *inode)?;
            return Ok(*inode);
        }
        let metadata = Metadata { xattrs: self.tree.xattrs.intern(entry.xattrs), ..entry.metadata };
        let inode = self.tree.add(parent, entry.name, metadata, entry.kind)?;
        self.seen.push(entry.seen);
        if let Some(id) = entry.shared {
            self.shared.insert(id, inode);
        }
        Ok(inode)
    }

    fn path(&self, parent: InodeIndex, name: &Name) -> Vec<u8> {
        let mut path = self.tree.path(parent);
        push_name(&mut path, name.as_bytes());
        path
    }
}
