//! Which names lead to which files?

use crate::{Directory, Inode, Kind, Metadata, Name, XattrPool};

/// An inode's number in its tree. The root is number 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct InodeIndex(u32);

impl InodeIndex {
    /// The root directory.
    pub const ROOT: Self = Self(0);

    /// The number that follows.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The number, to index a table with one row an inode.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Why a name could not be added to a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// What should hold the name is no directory.
    #[error("its parent is not a directory")]
    NotADirectory,
    /// The name is there already.
    #[error("the name {0:?} is there twice")]
    Exists(Name),
    /// Only files other than directories can have more than one name.
    #[error("a directory cannot have a second name")]
    DirectoryLink,
    /// There are 2³² - 1 inodes already.
    #[error("too many inodes")]
    Full,
}

/// A filesystem tree without the bytes of its files.
///
/// Inodes are numbered in the order in which they were added. An inode that lost its last name stays
/// in its place but is no longer reached from the root.
#[derive(Clone, Debug)]
pub struct Tree {
    inodes: Vec<Inode>,
    /// All sets of extended attributes.
    pub xattrs: XattrPool,
}

impl Tree {
    /// A tree of one empty directory, its root.
    #[must_use]
    pub fn new(root: Metadata) -> Self {
        let root = Inode {
            metadata: root,
            kind: Kind::directory(),
            links: 1,
            parent: InodeIndex::ROOT,
            name: None,
        };
        Self { inodes: vec![root], xattrs: XattrPool::default() }
    }

    /// Adds an inode under its first name.
    ///
    /// # Errors
    /// [`TreeError`] if `parent` is no directory or has the name already.
    pub fn add(
        &mut self,
        parent: InodeIndex,
        name: Name,
        metadata: Metadata,
        kind: Kind,
    ) -> Result<InodeIndex, TreeError> {
        let number = u32::try_from(self.inodes.len()).map_err(|_full| TreeError::Full)?;
        let inode = InodeIndex(number);
        let is_directory = matches!(kind, Kind::Directory(_));
        self.enter(parent, name.clone(), inode, is_directory)?;
        self.inodes.push(Inode { metadata, kind, links: 1, parent, name: Some(name) });
        Ok(inode)
    }

    /// Gives an inode that is no directory one more name.
    ///
    /// # Errors
    /// [`TreeError`] if `parent` is no directory or has the name, or `inode` is a directory.
    pub fn link(
        &mut self,
        parent: InodeIndex,
        name: Name,
        inode: InodeIndex,
    ) -> Result<(), TreeError> {
        if self.get(inode).as_directory().is_some() {
            return Err(TreeError::DirectoryLink);
        }
        self.enter(parent, name.clone(), inode, false)?;
        let target = self.get_mut(inode);
        if target.links == 0 {
            (target.parent, target.name) = (parent, Some(name));
        }
        target.links = target.links.saturating_add(1);
        Ok(())
    }

    /// Removes a name and says what it led to. The inode keeps its number.
    pub fn remove(&mut self, parent: InodeIndex, name: &[u8]) -> Option<InodeIndex> {
        let Kind::Directory(directory) = &mut self.get_mut(parent).kind else {
            return None;
        };
        let inode = directory.entries.remove(name)?;
        if self.get(inode).as_directory().is_some()
            && let Kind::Directory(directory) = &mut self.get_mut(parent).kind
        {
            directory.subdirectories = directory.subdirectories.saturating_sub(1);
        }
        let removed = self.get_mut(inode);
        removed.links = removed.links.saturating_sub(1);
        Some(inode)
    }

    fn enter(
        &mut self,
        parent: InodeIndex,
        name: Name,
        inode: InodeIndex,
        is_directory: bool,
    ) -> Result<(), TreeError> {
        let Kind::Directory(directory) = &mut self.get_mut(parent).kind else {
            return Err(TreeError::NotADirectory);
        };
        if directory.entries.contains_key(&name) {
            return Err(TreeError::Exists(name));
        }
        directory.entries.insert(name, inode);
        directory.subdirectories += u32::from(is_directory);
        Ok(())
    }

    /// An inode of this tree.
    #[must_use]
    pub fn get(&self, inode: InodeIndex) -> &Inode {
        #[expect(
            clippy::indexing_slicing,
            reason = "indexes are made by this tree only and never removed"
        )]
        &self.inodes[inode.index()]
    }

    /// An inode of this tree, to change its attributes.
    #[must_use]
    pub fn get_mut(&mut self, inode: InodeIndex) -> &mut Inode {
        #[expect(
            clippy::indexing_slicing,
            reason = "indexes are made by this tree only and never removed"
        )]
        &mut self.inodes[inode.index()]
    }

    /// All inodes in the order of their numbers, also those that lost their names.
    pub fn inodes_mut(&mut self) -> impl Iterator<Item = &mut Inode> {
        self.inodes.iter_mut()
    }

    /// The number behind all others, which no inode of this tree has.
    #[must_use]
    pub fn next_index(&self) -> InodeIndex {
        // `add` makes no more inodes than this.
        InodeIndex(u32::try_from(self.inodes.len()).unwrap_or(u32::MAX))
    }

    /// How many inodes there are, also those that lost their names.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inodes.len()
    }

    /// Never: every tree has its root.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// The inode's first name as a path from the root, without a leading slash; empty for the root.
    #[must_use]
    pub fn path(&self, inode: InodeIndex) -> Vec<u8> {
        let mut names = Vec::new();
        let mut at = self.get(inode);
        while let Some(name) = &at.name {
            names.push(name.as_bytes());
            at = self.get(at.parent);
        }
        names.reverse();
        names.join(&b'/')
    }

    /// The inode's first name; none for the root.
    #[must_use]
    pub fn name(&self, inode: InodeIndex) -> Option<&Name> {
        self.get(inode).name.as_ref()
    }

    /// What a path of names leads to, symbolic links not followed; slashes at either end don't count.
    #[must_use]
    pub fn find(&self, path: &[u8]) -> Option<InodeIndex> {
        path.split(|byte| *byte == b'/')
            .filter(|name| !name.is_empty())
            .try_fold(InodeIndex::ROOT, |at, name| self.get(at).as_directory()?.get(name))
    }

    /// Every name in the tree in canonical order: a directory's own entry, then each of its entries in
    /// ascending order of bytes, a subdirectory's entries directly behind its own. The root comes
    /// first, without a name.
    #[must_use]
    pub fn walk(&self) -> Walk<'_> {
        Walk { tree: self, stack: Vec::new(), started: false }
    }
}

/// A name met by [`Tree::walk`].
#[derive(Clone, Copy, Debug)]
pub struct Visit<'a> {
    /// The directory that holds the name; for the root itself.
    pub parent: InodeIndex,
    /// The name; none for the root.
    pub name: Option<&'a Name>,
    /// Where it leads.
    pub inode: InodeIndex,
    /// Directories above it.
    pub depth: usize,
}

type Entries<'a> = std::collections::btree_map::Iter<'a, Name, InodeIndex>;

/// Iterates over [`Tree::walk`].
#[derive(Debug)]
pub struct Walk<'a> {
    tree: &'a Tree,
    stack: Vec<(InodeIndex, Entries<'a>)>,
    started: bool,
}

impl<'a> Walk<'a> {
    fn descend(&mut self, inode: InodeIndex, directory: &'a Directory) {
        self.stack.push((inode, directory.entries.iter()));
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Visit<'a>;

    fn next(&mut self) -> Option<Visit<'a>> {
        if !std::mem::replace(&mut self.started, true) {
            let root = InodeIndex::ROOT;
            self.descend(root, self.tree.get(root).as_directory()?);
            return Some(Visit { parent: root, name: None, inode: root, depth: 0 });
        }
        loop {
            let depth = self.stack.len();
            let (parent, entries) = self.stack.last_mut()?;
            let parent = *parent;
            if let Some((name, inode)) = entries.next() {
                if let Some(directory) = self.tree.get(*inode).as_directory() {
                    self.descend(*inode, directory);
                }
                return Some(Visit { parent, name: Some(name), inode: *inode, depth });
            }
            self.stack.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> Name {
        Name::new(name.as_bytes()).unwrap()
    }

    fn sample() -> Tree {
        let mut tree = Tree::new(Metadata::default());
        let root = InodeIndex::ROOT;
        let b = tree.add(root, name("b"), Metadata::default(), Kind::directory()).unwrap();
        let file = Kind::Regular { size: 3 };
        let f = tree.add(b, name("f"), Metadata::default(), file).unwrap();
        tree.link(root, name("a"), f).unwrap();
        tree.add(b, name("d"), Metadata::default(), Kind::directory()).unwrap();
        tree
    }

    #[test]
    fn walks_in_the_order_of_bytes_and_counts_links() {
        let tree = sample();
        let paths: Vec<_> = tree
            .walk()
            .map(|v| {
                (v.name.map_or(String::new(), |n| DisplayPath(n.as_bytes()).to_string()), v.depth)
            })
            .collect();
        let expected = [("", 0), ("a", 1), ("b", 1), ("d", 2), ("f", 2)];
        assert_eq!(paths, expected.map(|(n, d)| (n.to_owned(), d)));
        assert_eq!(tree.get(InodeIndex::ROOT).nlink(), 3);
        assert_eq!(tree.get(tree.find(b"b/f").unwrap()).nlink(), 2);
        assert_eq!(tree.find(b"/a/"), tree.find(b"b/f"));
        assert_eq!(tree.path(tree.find(b"a").unwrap()), b"b/f");
    }

    #[test]
    fn refuses_what_no_filesystem_has() {
        let mut tree = sample();
        let (b, f) = (tree.find(b"b").unwrap(), tree.find(b"a").unwrap());
        let again = tree.add(b, name("f"), Metadata::default(), Kind::Fifo);
        assert_eq!(again, Err(TreeError::Exists(name("f"))));
        assert_eq!(tree.link(b, name("x"), b), Err(TreeError::DirectoryLink));
        let under_file = tree.add(f, name("x"), Metadata::default(), Kind::Fifo);
        assert_eq!(under_file, Err(TreeError::NotADirectory));
    }

    #[test]
    fn removing_takes_names_away_and_leaves_numbers() {
        let mut tree = sample();
        let root = InodeIndex::ROOT;
        let f = tree.find(b"a").unwrap();
        assert_eq!(tree.remove(root, b"b"), Some(tree.get(f).parent()));
        assert_eq!(tree.get(root).nlink(), 2);
        assert_eq!(tree.remove(root, b"b"), None);
        assert_eq!(tree.walk().count(), 2);
    }

    use crate::DisplayPath;
}
