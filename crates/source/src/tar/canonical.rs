//! Copies a tree in the order of its walk, so that inode numbers don't depend on the order of members.

use lith_tree::{InodeIndex, Kind, Metadata, Tree, TreeError, Visit, XattrSet};

use super::contents::Stored;
use crate::{
    Options,
    prune::{Fate, remove_empty},
};

/// Copies a tree in the order of its walk, without excluded files and inodes without a name.
struct Copier<'a> {
    from: &'a Tree,
    stored: &'a [Stored],
    options: &'a Options,
    tree: Tree,
    copied: Vec<Stored>,
    /// The new numbers, by the old ones.
    inodes: Vec<Option<InodeIndex>>,
    sets: Vec<Option<XattrSet>>,
}

/// A tree in the order of its walk.
pub(super) struct Canonical {
    pub(super) tree: Tree,
    /// Where the data are, by inode.
    pub(super) stored: Vec<Stored>,
    /// The numbers of inodes, by those that they had before.
    pub(super) numbers: Vec<Option<InodeIndex>>,
}

/// Copies a tree and where the data of its files are. Inodes are numbered as in a scanned directory.
pub(super) fn canonical(
    from: &Tree,
    stored: &[Stored],
    options: &Options,
) -> Result<Canonical, (Vec<u8>, TreeError)> {
    let mut copier = Copier {
        from,
        stored,
        options,
        tree: Tree::new(Metadata::default()),
        copied: vec![Stored::Nothing],
        inodes: vec![None; from.len()],
        sets: vec![None; from.xattrs.len()],
    };
    // Of the directories above and the file itself, from the root on.
    let mut fates = Vec::new();
    let mut provisional = Vec::new();
    for visit in from.walk() {
        fates.truncate(visit.depth);
        let fate = copier.fate(&visit, fates.last().copied().unwrap_or(Fate::Taken));
        fates.push(fate);
        if fate == Fate::LeftOut {
            continue;
        }
        copier.copy(&visit).map_err(|error| (from.path(visit.inode), error))?;
        provisional.extend(copier.known(visit.inode).filter(|_| fate == Fate::Provisional));
    }
    remove_empty(&mut copier.tree, &provisional);
    Ok(Canonical { tree: copier.tree, stored: copier.copied, numbers: copier.inodes })
}

impl Copier<'_> {
    /// What becomes of a file in a directory with the fate `above`.
    fn fate(&self, visit: &Visit<'_>, above: Fate) -> Fate {
        let exclude = &self.options.exclude;
        let is_plain = exclude.is_empty() && !exclude.has_exceptions();
        let Some(name) = visit.name.filter(|_| above != Fate::LeftOut && !is_plain) else {
            return above;
        };
        let is_directory = self.from.get(visit.inode).as_directory().is_some();
        let parent = self.from.path(visit.parent);
        Fate::new(exclude, above, (&parent, name.as_bytes()), is_directory)
    }

    fn copy(&mut self, visit: &Visit<'_>) -> Result<(), TreeError> {
        let inode = self.from.get(visit.inode);
        let xattrs = self.set(inode.metadata.xattrs);
        let metadata = Metadata { xattrs, ..inode.metadata };
        let copy = match visit.name {
            None => {
                self.tree.get_mut(InodeIndex::ROOT).metadata = metadata;
                InodeIndex::ROOT
            }
            Some(name) => {
                let parent = self.known(visit.parent).unwrap_or(InodeIndex::ROOT);
                let first = self.known(visit.inode);
                if let Some(first) = first.filter(|_| !self.options.dereference_hard_links) {
                    return self.tree.link(parent, name.clone(), first);
                }
                let stored = self.stored.get(visit.inode.index());
                self.copied.push(stored.copied().unwrap_or(Stored::Nothing));
                self.tree.add(parent, name.clone(), metadata, without_entries(&inode.kind))?
            }
        };
        if let Some(known) = self.inodes.get_mut(visit.inode.index()) {
            *known = Some(copy);
        }
        Ok(())
    }

    fn known(&self, inode: InodeIndex) -> Option<InodeIndex> {
        self.inodes.get(inode.index()).copied().flatten()
    }

    /// The new number of a set of attributes.
    fn set(&mut self, old: XattrSet) -> XattrSet {
        if let Some(Some(new)) = self.sets.get(old.index()) {
            return *new;
        }
        let new = self.tree.xattrs.intern(self.from.xattrs.get(old).to_vec());
        if let Some(known) = self.sets.get_mut(old.index()) {
            *known = Some(new);
        }
        new
    }
}

fn without_entries(kind: &Kind) -> Kind {
    match kind {
        Kind::Directory(_) => Kind::directory(),
        kind => kind.clone(),
    }
}
