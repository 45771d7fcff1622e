//! Defines [`Tree`], the names and inodes of a filesystem, and [`Walk`], which visits them in canonical order.

use crate::{Directory, DisplayPath, Inode, InodeIndex, Kind, Metadata, Name, Xattr, XattrPool};

/// Why a name could not be added to a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// The parent is not a directory.
    #[error("its parent is not a directory")]
    NotADirectory,
    /// The directory has the name already.
    #[error("the name {} is there twice", DisplayPath(.0.as_bytes()))]
    Exists(Name),
    /// Only files other than directories can have more than one name.
    #[error("a directory cannot have a second name")]
    DirectoryLink,
    /// There are 2³² - 1 inodes already.
    #[error("too many inodes")]
    Full,
}

/// Why an inode of an index is there.
const OWN_INDEX: &str = "only this tree makes its indexes, and inodes are never removed";

/// A filesystem tree without the bytes of its files.
///
/// Inodes are numbered in the order in which they were added. An inode that lost its last name keeps its
/// number but is no longer reached from the root.
#[derive(Clone, Debug)]
pub struct Tree {
    inodes: Vec<Inode>,
    /// All sets of extended attributes.
    pub xattrs: XattrPool,
}

impl Tree {
    /// Makes a tree of one empty directory, its root.
    #[must_use]
    pub fn new(root: Metadata) -> Self {
        let root = Inode::nameless(root, Kind::directory());
        Self { inodes: vec![root], xattrs: XattrPool::default() }
    }

    /// Adds an inode under its first name.
    ///
    /// # Errors
    /// [`TreeError`] if `parent` is not a directory or has the name already.
    pub fn add(
        &mut self,
        parent: InodeIndex,
        name: Name,
        metadata: Metadata,
        kind: Kind,
    ) -> Result<InodeIndex, TreeError> {
        // The largest number is kept free for `next_index`.
        let number = u32::try_from(self.inodes.len()).ok().filter(|number| *number < u32::MAX);
        let inode = InodeIndex(number.ok_or(TreeError::Full)?);
        let is_directory = matches!(kind, Kind::Directory(_));
        self.enter(parent, name.clone(), inode, is_directory)?;
        self.inodes.push(Inode { metadata, kind, links: 1, parent, name: Some(name) });
        Ok(inode)
    }

    /// Adds a name to an inode that is not a directory.
    ///
    /// # Errors
    /// [`TreeError`] if `parent` is not a directory or has the name already, or `inode` is a directory.
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

    /// Makes one of an inode's names the first one, by which it is shown and stored. A name that it has not is ignored.
    pub fn set_first_name(&mut self, inode: InodeIndex, parent: InodeIndex, name: &Name) {
        let entries = self.get(parent).as_directory();
        if entries.and_then(|entries| entries.get(name.as_bytes())) == Some(inode) {
            let node = self.get_mut(inode);
            (node.parent, node.name) = (parent, Some(name.clone()));
        }
    }

    /// Removes a name and returns the inode that had it, which keeps its number. `None`: there is no such name.
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
        self.inodes.get(inode.index()).expect(OWN_INDEX)
    }

    /// An inode of this tree, mutable.
    #[must_use]
    pub fn get_mut(&mut self, inode: InodeIndex) -> &mut Inode {
        self.inodes.get_mut(inode.index()).expect(OWN_INDEX)
    }

    /// Sets one extended attribute of an inode, in place of any of the same name.
    pub fn add_xattr(&mut self, inode: InodeIndex, name: &[u8], value: &[u8]) {
        let mut xattrs = self.xattrs.get(self.get(inode).metadata.xattrs).to_vec();
        xattrs.push(Xattr { name: name.into(), value: value.into() });
        self.get_mut(inode).metadata.xattrs = self.xattrs.intern(xattrs);
    }

    /// All inodes in the order of their numbers, also those that lost their names.
    pub fn inodes_mut(&mut self) -> impl Iterator<Item = &mut Inode> {
        self.inodes.iter_mut()
    }

    /// The number that the next inode gets.
    #[must_use]
    pub fn next_index(&self) -> InodeIndex {
        let number = u32::try_from(self.inodes.len());
        InodeIndex(number.expect("`Tree::add` refuses more inodes"))
    }

    /// The number of inodes, also those that lost their names.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inodes.len()
    }

    /// Bytes of all regular files that have a name, holes included.
    #[must_use]
    pub fn content_bytes(&self) -> u64 {
        let sizes =
            self.inodes.iter().filter(|inode| inode.links > 0).map(|inode| match inode.kind {
                Kind::Regular { size } => size,
                _ => 0,
            });
        sizes.fold(0, u64::saturating_add)
    }

    /// Always false: every tree has its root.
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

    /// The inode's first name; `None` for the root.
    #[must_use]
    pub fn name(&self, inode: InodeIndex) -> Option<&Name> {
        self.get(inode).name.as_ref()
    }

    /// The inode at a path from the root. Symbolic links are not followed; slashes at either end are ignored.
    #[must_use]
    pub fn find(&self, path: &[u8]) -> Option<InodeIndex> {
        path.split(|byte| *byte == b'/')
            .filter(|name| !name.is_empty())
            .try_fold(InodeIndex::ROOT, |at, name| self.get(at).as_directory()?.get(name))
    }

    /// Visits every name in canonical order: a directory's own entry, then each of its entries in ascending order of bytes,
    /// a subdirectory's entries directly after its own. The root comes first, without a name.
    #[must_use]
    pub fn walk(&self) -> Walk<'_> {
        Walk { tree: self, stack: Vec::new(), started: false }
    }
}

/// A name that [`Tree::walk`] visits.
#[derive(Clone, Copy, Debug)]
pub struct Visit<'a> {
    /// The directory that holds the name; the root is its own parent.
    pub parent: InodeIndex,
    /// The name; `None` for the root.
    pub name: Option<&'a Name>,
    /// The inode that has the name.
    pub inode: InodeIndex,
    /// The number of directories above it.
    pub depth: usize,
}

type Entries<'a> = std::collections::btree_map::Iter<'a, Name, InodeIndex>;

/// The iterator that [`Tree::walk`] returns.
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
    use crate::DisplayPath;

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
    fn any_name_can_be_the_first() {
        let mut tree = sample();
        let f = tree.find(b"a").unwrap();
        tree.set_first_name(f, InodeIndex::ROOT, &name("a"));
        assert_eq!(tree.path(f), b"a");
        for other in ["b", "x"] {
            tree.set_first_name(f, InodeIndex::ROOT, &name(other));
            assert_eq!(tree.path(f), b"a", "it has no name {other}");
        }
    }

    #[test]
    fn refuses_names_twice_and_links_of_directories() {
        let mut tree = sample();
        let (b, f) = (tree.find(b"b").unwrap(), tree.find(b"a").unwrap());
        let again = tree.add(b, name("f"), Metadata::default(), Kind::Fifo);
        assert_eq!(again, Err(TreeError::Exists(name("f"))));
        assert_eq!(tree.link(b, name("x"), b), Err(TreeError::DirectoryLink));
        let under_file = tree.add(f, name("x"), Metadata::default(), Kind::Fifo);
        assert_eq!(under_file, Err(TreeError::NotADirectory));
    }

    #[test]
    fn removing_a_name_keeps_numbers() {
        let mut tree = sample();
        let root = InodeIndex::ROOT;
        let f = tree.find(b"a").unwrap();
        assert_eq!(tree.remove(root, b"b"), Some(tree.get(f).parent()));
        assert_eq!(tree.get(root).nlink(), 2);
        assert_eq!(tree.remove(root, b"b"), None);
        assert_eq!(tree.walk().count(), 2);
    }
}
