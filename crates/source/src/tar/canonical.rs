//! Copies a tree in the order of its walk, so that inode numbers don't depend on the order of members.

use lith_tree::{InodeIndex, Kind, Metadata, Tree, TreeError, Visit, XattrSet};

use super::contents::Stored;
use crate::Options;

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

/// Copies a tree and where the data of its files are. Inodes are numbered as in a scanned directory.
pub(super) fn canonical(
    from: &Tree,
    stored: &[Stored],
    options: &Options,
) -> Result<(Tree, Vec<Stored>), (Vec<u8>, TreeError)> {
    let mut copier = Copier {
        from,
        stored,
        options,
        tree: Tree::new(Metadata::default()),
        copied: vec![Stored::Nothing],
        inodes: vec![None; from.len()],
        sets: vec![None; from.xattrs.len()],
    };
    let mut excluded_at = usize::MAX;
    for visit in from.walk() {
        if visit.depth > excluded_at {
            continue;
        }
        excluded_at = usize::MAX;
        if copier.is_excluded(&visit) {
            excluded_at = visit.depth;
            continue;
        }
        copier.copy(&visit).map_err(|error| (from.path(visit.inode), error))?;
    }
    Ok((copier.tree, copier.copied))
}

impl Copier<'_> {
    fn is_excluded(&self, visit: &Visit<'_>) -> bool {
        let exclude = &self.options.exclude;
        let Some(name) = visit.name.filter(|_| !exclude.is_empty()) else {
            return false;
        };
        exclude.excludes(&self.from.path(visit.parent), name.as_bytes())
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
