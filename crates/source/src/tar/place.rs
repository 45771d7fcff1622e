//! Adds the members of an archive to a tree.

use std::collections::{BTreeMap, HashSet};

use lith_transform::make_opaque;
use lith_tree::{InodeIndex, Kind, Metadata, Name, Rdev, Tree, Xattr, push_name};

use super::{
    contents::{SparseData, Stored},
    error::Refusal,
    member::{Member, MemberKind},
    sparse::SparseMap,
};
use crate::{
    Options,
    layer::Borrowed,
    namespace,
    note::{NoteKind, Notes},
};

/// AUFS' prefix of the name of a file that hides one in a lower layer.
const WHITEOUT: &[u8] = b".wh.";
/// AUFS' name of a file that marks its directory as opaque: it hides all entries of lower layers.
const OPAQUE: &[u8] = b".wh..wh..opq";
/// AUFS' prefix of the names of its bookkeeping.
const BOOKKEEPING: &[u8] = b".wh..wh.";

/// The attributes of directories without a member: those that mkfs.erofs sets, but with a time that depends neither on the
/// current time nor on the order of members.
const IMPLIED: Metadata = Metadata {
    permissions: 0o755,
    uid: 0,
    gid: 0,
    mtime: lith_tree::Timestamp { sec: 0, nsec: 0 },
    xattrs: lith_tree::XattrSet::EMPTY,
};

/// A tree to which members are added.
pub(crate) struct Placer<'a> {
    pub(super) options: &'a Options,
    pub(super) tree: Tree,
    /// Where the data are, by inode.
    pub(super) stored: Vec<Stored>,
    pub(super) maps: Vec<SparseData>,
    pub(crate) notes: Notes,
    /// Hard links whose target has not been read yet: the link's path, the target's.
    waiting: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The paths of hidden files, with the attributes of the AUFS whiteouts.
    whiteouts: BTreeMap<Vec<u8>, Metadata>,
    opaque: Vec<InodeIndex>,
    /// What a layer takes of those below it. Without layers below, a hard link to a missing file is refused.
    pub(super) borrowed: Borrowed,
    is_layer: bool,
}

/// A refused member's name and the reason.
type Refused = (Vec<u8>, Refusal);

impl<'a> Placer<'a> {
    pub(crate) fn new(options: &'a Options) -> Self {
        Self {
            options,
            tree: Tree::new(IMPLIED),
            stored: vec![Stored::Nothing],
            maps: Vec::new(),
            notes: Notes::default(),
            waiting: BTreeMap::new(),
            whiteouts: BTreeMap::new(),
            opaque: Vec::new(),
            borrowed: Borrowed { passed: HashSet::from([InodeIndex::ROOT]), ..Borrowed::default() },
            is_layer: false,
        }
    }

    /// As [`Self::new`], for a tar on top of others.
    pub(super) fn layer(options: &'a Options) -> Self {
        Self { is_layer: true, ..Self::new(options) }
    }

    /// Adds a member. It replaces an earlier one of the same path.
    pub(crate) fn place(&mut self, member: Member) -> Result<(), Refusal> {
        let path = normal(&member.path)?;
        let xattrs = self.kept(member.xattrs, &path);
        let metadata = Metadata { xattrs: self.tree.xattrs.intern(xattrs), ..member.metadata };
        if self.options.aufs && self.place_whiteout(&path, &member.kind, metadata)? {
            return Ok(());
        }
        let (kind, stored) = match member.kind {
            MemberKind::Nothing(flag) => {
                self.notes.add(NoteKind::MemberSkipped(flag), &path);
                return Ok(());
            }
            MemberKind::Directory => return self.place_directory(&path, metadata),
            MemberKind::HardLink(target) => return self.place_link(path, &target),
            MemberKind::Special(kind) => (kind, Stored::Nothing),
            MemberKind::Regular { size, at, map, unknown } => {
                if let Some(flag) = unknown {
                    self.notes.add(NoteKind::MemberAsFile(flag), &path);
                }
                (Kind::Regular { size }, self.stored_at(at, map))
            }
        };
        self.waiting.remove(&path);
        self.replace(&path, metadata, kind, stored).map(|_inode| ())
    }

    /// What is at a member's path.
    pub(crate) fn find(&self, path: &[u8]) -> Option<InodeIndex> {
        normal(path).ok().and_then(|path| self.tree.find(&path))
    }

    /// Whether an inode that was placed can be the file that a member is another name of.
    pub(crate) fn is_same_file(&self, inode: InodeIndex, member: &Member) -> bool {
        let known = self.tree.get(inode);
        let is_same = match (&known.kind, &member.kind) {
            (Kind::Regular { .. }, MemberKind::Regular { .. }) => true,
            (known, MemberKind::Special(kind)) => is_same_special(known, kind),
            _ => false,
        };
        is_same && known.nlink() > 0
    }

    /// Adds a member as another name of an inode, which gets its attributes, and its data if it has any.
    pub(crate) fn place_again(&mut self, member: Member, inode: InodeIndex) -> Result<(), Refusal> {
        let path = normal(&member.path)?;
        self.link(&path, &path, inode)?;
        self.tree.get_mut(inode).metadata = member.metadata;
        if let MemberKind::Regular { size: size @ 1.., at, map, .. } = member.kind {
            self.tree.get_mut(inode).kind = Kind::Regular { size };
            let place = self.stored_at(at, map);
            if let Some(stored) = self.stored.get_mut(inode.index()) {
                *stored = place;
            }
        }
        Ok(())
    }

    /// The attributes that the format can store.
    fn kept(&mut self, mut xattrs: Vec<Xattr>, path: &[u8]) -> Vec<Xattr> {
        xattrs.retain(|xattr| {
            let kept = namespace::is_kept(&xattr.name);
            if !kept {
                self.notes.add(NoteKind::Xattr(xattr.name.clone()), path);
            }
            kept
        });
        xattrs
    }

    fn place_directory(&mut self, path: &[u8], metadata: Metadata) -> Result<(), Refusal> {
        let is_directory = |inode: &InodeIndex| self.tree.get(*inode).as_directory().is_some();
        match self.tree.find(path).filter(is_directory) {
            Some(inode) => {
                self.tree.get_mut(inode).metadata = metadata;
                self.borrowed.passed.remove(&inode);
            }
            None => drop(self.replace(path, metadata, Kind::directory(), Stored::Nothing)?),
        }
        self.waiting.remove(path);
        Ok(())
    }

    fn place_link(&mut self, path: Vec<u8>, target: &[u8]) -> Result<(), Refusal> {
        let target = normal(target)?;
        let Some(inode) = self.tree.find(&target) else {
            if self.is_layer {
                return self.borrow_file(&path, target);
            }
            self.waiting.insert(path, target);
            return Ok(());
        };
        self.waiting.remove(&path);
        self.link(&path, &target, inode)
    }

    /// Adds a hard link to a file that layers below have.
    fn borrow_file(&mut self, path: &[u8], target: Vec<u8>) -> Result<(), Refusal> {
        let kind = Kind::Regular { size: 0 };
        let inode = self.replace(path, Metadata::default(), kind, Stored::Nothing)?;
        self.borrowed.links.insert(inode, target);
        Ok(())
    }

    fn link(&mut self, path: &[u8], target: &[u8], inode: InodeIndex) -> Result<(), Refusal> {
        if self.tree.get(inode).as_directory().is_some() {
            return Err(Refusal::LinkToDirectory(target.into()));
        }
        if self.tree.find(path) == Some(inode) {
            return Ok(());
        }
        let (parent, name) = self.free_name(path)?;
        self.tree.link(parent, name, inode).map_err(Refusal::Tree)
    }

    fn stored_at(&mut self, at: u64, map: Option<SparseMap>) -> Stored {
        let Some(SparseMap { stretches, .. }) = map else {
            return Stored::Whole { at };
        };
        self.maps.push(SparseData { at, stretches });
        Stored::Sparse { map: self.maps.len() - 1 }
    }

    /// Adds an inode at a path, in place of any that is there.
    fn replace(
        &mut self,
        path: &[u8],
        metadata: Metadata,
        kind: Kind,
        stored: Stored,
    ) -> Result<InodeIndex, Refusal> {
        let (parent, name) = self.free_name(path)?;
        let inode = self.tree.add(parent, name, metadata, kind).map_err(Refusal::Tree)?;
        self.stored.push(stored);
        Ok(inode)
    }

    /// Removes the name at a path, and adds missing directories above it.
    fn free_name(&mut self, path: &[u8]) -> Result<(InodeIndex, Name), Refusal> {
        let (parent, name) = split(path);
        if name.is_empty() {
            return Err(Refusal::Root);
        }
        let parent = self.directory_at(parent)?;
        let name = Name::new(name).map_err(Refusal::Name)?;
        let directory = self.tree.get(parent).as_directory();
        if let Some(there) = directory.and_then(|directory| directory.get(name.as_bytes())) {
            let entries = self.tree.get(there).as_directory();
            if entries.is_some_and(|entries| !entries.is_empty()) {
                return Err(Refusal::NotEmpty);
            }
            self.tree.remove(parent, name.as_bytes());
        }
        Ok((parent, name))
    }

    /// The directory at a path, which is added with those above it if they are missing.
    fn directory_at(&mut self, path: &[u8]) -> Result<InodeIndex, Refusal> {
        let mut at = InodeIndex::ROOT;
        let mut passed = Vec::new();
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            push_name(&mut passed, name);
            let Some(directory) = self.tree.get(at).as_directory() else {
                break;
            };
            at = if let Some(inode) = directory.get(name) {
                inode
            } else {
                let name = Name::new(name).map_err(Refusal::Name)?;
                let inode = self.tree.add(at, name, IMPLIED, Kind::directory());
                let inode = inode.map_err(Refusal::Tree)?;
                self.stored.push(Stored::Nothing);
                self.borrowed.passed.insert(inode);
                inode
            };
            if self.tree.get(at).as_directory().is_none() {
                return Err(Refusal::NotADirectory(passed.into()));
            }
        }
        Ok(at)
    }

    /// Handles a member if it is a mark of AUFS, and returns whether it is.
    fn place_whiteout(
        &mut self,
        path: &[u8],
        kind: &MemberKind,
        metadata: Metadata,
    ) -> Result<bool, Refusal> {
        let (parent, name) = split(path);
        if name == OPAQUE {
            let directory = self.directory_at(parent)?;
            self.opaque.push(directory);
        } else if name.starts_with(BOOKKEEPING) {
            self.notes.add(NoteKind::AufsBookkeeping, path);
        } else if let Some(hidden) = name.strip_prefix(WHITEOUT).filter(|name| !name.is_empty())
            && !matches!(kind, MemberKind::Directory)
        {
            let mut path = parent.to_vec();
            push_name(&mut path, hidden);
            // Overlayfs ignores the permissions of a whiteout.
            self.whiteouts.insert(path, Metadata { permissions: 0, ..metadata });
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Adds links, whiteouts and opaque marks, which need all other members.
    pub(crate) fn finish(&mut self) -> Result<(), Refused> {
        while let Some((path, target)) = self.waiting.pop_first() {
            self.resolve(path, target)?;
        }
        for (path, metadata) in std::mem::take(&mut self.whiteouts) {
            self.hide(&path, metadata).map_err(|refusal| (path, refusal))?;
        }
        for directory in std::mem::take(&mut self.opaque) {
            make_opaque(&mut self.tree, directory);
        }
        Ok(())
    }

    /// Follows a chain of links to its file, and links all of them to that.
    fn resolve(&mut self, path: Vec<u8>, mut target: Vec<u8>) -> Result<(), Refused> {
        let mut links = vec![path];
        while let Some(next) = self.waiting.remove(&target) {
            links.push(std::mem::replace(&mut target, next));
        }
        let found = self.tree.find(&target);
        while let Some(path) = links.pop() {
            let linked = match found {
                Some(inode) => self.link(&path, &target, inode),
                None => Err(Refusal::LinkToNothing(target.as_slice().into())),
            };
            linked.map_err(|refusal| (path, refusal))?;
        }
        Ok(())
    }

    /// Adds a whiteout, unless the tar has a file of that name. A directory of that name becomes opaque.
    fn hide(&mut self, path: &[u8], metadata: Metadata) -> Result<(), Refusal> {
        match self.tree.find(path) {
            Some(inode) if self.tree.get(inode).as_directory().is_some() => {
                self.opaque.push(inode);
                // It is a new directory, not that of a layer below.
                self.borrowed.passed.remove(&inode);
                Ok(())
            }
            Some(_) => Ok(()),
            None => {
                let kind = Kind::CharDevice(Rdev::default());
                self.replace(path, metadata, kind, Stored::Nothing).map(|_inode| ())
            }
        }
    }
}

/// A path from the root without empty and `.` components. One with `..` is refused.
fn normal(path: &[u8]) -> Result<Vec<u8>, Refusal> {
    let mut normal = Vec::with_capacity(path.len());
    for name in path.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => return Err(Refusal::ParentDir(path.into())),
            name => push_name(&mut normal, name),
        }
    }
    Ok(normal)
}

/// Whether two files without data are the same, as far as their kinds say.
fn is_same_special(one: &Kind, other: &Kind) -> bool {
    match (one, other) {
        (Kind::Symlink(one), Kind::Symlink(other)) => one == other,
        (Kind::CharDevice(one), Kind::CharDevice(other))
        | (Kind::BlockDevice(one), Kind::BlockDevice(other)) => one == other,
        (Kind::Fifo, Kind::Fifo) | (Kind::Socket, Kind::Socket) => true,
        _ => false,
    }
}

/// The directory of a path, and its last name.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let slash = path.iter().rposition(|byte| *byte == b'/');
    let (parent, name) = path.split_at(slash.unwrap_or(0));
    (parent, name.strip_prefix(b"/").unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_normal_or_are_refused() {
        let cases: [(&str, &str); 6] = [
            ("./a/./b/", "a/b"),
            ("/a//b", "a/b"),
            ("./", ""),
            ("", ""),
            ("...", "..."),
            ("a/..b", "a/..b"),
        ];
        for (path, expected) in cases {
            assert_eq!(normal(path.as_bytes()), Ok(expected.into()), "{path}");
        }
        for path in ["..", "a/../b", "/..", "a/.."] {
            let refusal = Refusal::ParentDir(path.as_bytes().into());
            assert_eq!(normal(path.as_bytes()), Err(refusal));
        }
        assert_eq!(split(b"a/b/c"), (&b"a/b"[..], &b"c"[..]));
        assert_eq!(split(b"c"), (&b""[..], &b"c"[..]));
    }
}
