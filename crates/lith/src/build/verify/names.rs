//! Compares names and attributes of an image with those of its source.

use lith_format::{
    addr::Nid,
    inode::{InodeData, InodeForm},
};
use lith_reader::{Image, Inode};
use lith_tree::{InodeIndex, Kind, Timestamp, Tree};

use crate::mismatch::Mismatch;

/// Compares everything except the content of regular files.
pub(super) struct Names<'a> {
    tree: &'a Tree,
    image: &'a Image,
    /// The time that compact inodes may have in place of their own.
    time: Option<Timestamp>,
    /// The NIDs of the inodes found so far, by their index in the tree.
    nids: Vec<Option<Nid>>,
    files: Vec<(InodeIndex, Nid)>,
}

impl<'a> Names<'a> {
    pub(super) fn new(tree: &'a Tree, image: &'a Image, time: Option<Timestamp>) -> Self {
        Self { tree, image, time, nids: vec![None; tree.len()], files: Vec::new() }
    }

    /// Returns the regular files that aren't empty, whose content is not compared yet.
    pub(super) fn compare_all(mut self) -> Result<Vec<(InodeIndex, Nid)>, Mismatch> {
        let root = self.image.superblock().root_nid;
        let mut stack = vec![self.compare(InodeIndex::ROOT, root)?];
        while let Some(found) = stack.pop() {
            let Some((index, inode)) = found else { continue };
            for (child, nid) in self.compare_names(index, &inode)? {
                stack.push(self.compare(child, nid)?);
            }
        }
        Ok(self.files)
    }

    fn unreadable(&self, index: InodeIndex) -> impl FnOnce(lith_reader::Error) -> Mismatch + use<> {
        let path = self.tree.path(index);
        |source| Mismatch::Unreadable { path, source }
    }

    fn differs(&self, index: InodeIndex, what: &'static str) -> Mismatch {
        Mismatch::Differs { path: self.tree.path(index), what }
    }

    /// Compares an inode. Returns it if it is a directory found for the first time.
    fn compare(
        &mut self,
        index: InodeIndex,
        nid: Nid,
    ) -> Result<Option<(InodeIndex, Inode)>, Mismatch> {
        let met = self.nids.get_mut(index.index()).and_then(|slot| slot.replace(nid));
        if let Some(met) = met {
            return if met == nid { Ok(None) } else { Err(self.differs(index, "hard link")) };
        }
        let inode = self.image.inode(nid).map_err(|error| self.unreadable(index)(error))?;
        if let Some(what) = self.difference(index, &inode)? {
            return Err(self.differs(index, what));
        }
        match self.tree.get(index).kind {
            Kind::Directory(_) => return Ok(Some((index, inode))),
            Kind::Regular { size: 1.. } => self.files.push((index, nid)),
            _ => {}
        }
        Ok(None)
    }

    fn difference(
        &self,
        index: InodeIndex,
        inode: &Inode,
    ) -> Result<Option<&'static str>, Mismatch> {
        let node = self.tree.get(index);
        let metadata = &node.metadata;
        let differing = [
            ("kind", inode.file_type != lith_builder::file_type(&node.kind)),
            ("mode", inode.mode & 0o7777 != metadata.permissions),
            ("owner", (inode.uid, inode.gid) != (metadata.uid, metadata.gid)),
            ("modification time", !self.has_right_time(inode, metadata.mtime)),
            ("link count", inode.nlink != node.nlink()),
            ("extended attributes", !self.has_same_xattrs(index, inode)?),
        ];
        if let Some((what, _)) = differing.into_iter().find(|(_, differs)| *differs) {
            return Ok(Some(what));
        }
        Ok(match &node.kind {
            Kind::Regular { size } => (inode.size != *size).then_some("size"),
            Kind::Symlink(target) => {
                let found =
                    self.image.read_link(inode).map_err(|error| self.unreadable(index)(error))?;
                (*found != **target).then_some("target")
            }
            Kind::CharDevice(rdev) | Kind::BlockDevice(rdev) => match inode.data {
                InodeData::Device(found) => ((found.major, found.minor)
                    != (rdev.major, rdev.minor))
                    .then_some("device number"),
                _ => Some("device number"),
            },
            _ => None,
        })
    }

    fn has_right_time(&self, inode: &Inode, expected: Timestamp) -> bool {
        let shown = Timestamp { sec: inode.mtime, nsec: inode.mtime_nsec };
        shown == expected || (inode.form == InodeForm::Compact && Some(shown) == self.time)
    }

    fn has_same_xattrs(&self, index: InodeIndex, inode: &Inode) -> Result<bool, Mismatch> {
        let expected = self.tree.xattrs.get(self.tree.get(index).metadata.xattrs);
        if expected.is_empty() && inode.xattr_icount == 0 {
            return Ok(true);
        }
        let found = self.image.xattrs_with_hidden(inode);
        let mut found = found.map_err(|error| self.unreadable(index)(error))?;
        found.sort();
        Ok(found.len() == expected.len()
            && found.iter().zip(expected).all(|(f, e)| *f.name == *e.name && *f.value == *e.value))
    }

    /// Compares the names of a directory; gives back where they lead.
    fn compare_names(
        &self,
        index: InodeIndex,
        inode: &Inode,
    ) -> Result<Vec<(InodeIndex, Nid)>, Mismatch> {
        let Some(directory) = self.tree.get(index).as_directory() else { return Ok(Vec::new()) };
        let mut expected = directory.entries();
        let mut leads = Vec::with_capacity(directory.len());
        let entries = self.image.read_dir(inode).map_err(|error| self.unreadable(index)(error))?;
        for entry in entries {
            let entry = entry.map_err(|error| self.unreadable(index)(error))?;
            match expected.next() {
                Some((name, child)) if name.as_bytes() == entry.name => {
                    leads.push((child, entry.nid));
                }
                _ => return Err(self.differs(index, "list of names")),
            }
        }
        match expected.next() {
            None => Ok(leads),
            Some(_) => Err(self.differs(index, "list of names")),
        }
    }
}
