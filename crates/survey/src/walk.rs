//! Defines [`Walk`], which keeps track of the inodes that were met and of the directories still to be read.

use std::collections::HashMap;

use lith_format::{addr::Nid, file_type::FileType};
use lith_reader::Inode;

/// The inodes of an image that have names, each met once, with a note `T` of the caller.
///
/// A directory that was met is read later, the last one first: depth does not cost stack, and a directory that several
/// names lead to is read once.
#[derive(Debug)]
pub struct Walk<T> {
    notes: HashMap<Nid, T>,
    pending: Vec<Inode>,
}

impl<T> Default for Walk<T> {
    fn default() -> Self {
        Self { notes: HashMap::new(), pending: Vec::new() }
    }
}

impl<T> Walk<T> {
    /// Adds an inode; if it is a directory, [`Self::next_directory`] returns it later.
    pub fn add(&mut self, inode: &Inode, note: T) {
        self.notes.insert(inode.nid, note);
        if inode.file_type == FileType::Directory {
            self.pending.push(*inode);
        }
    }

    /// The next directory to be read; `None` after the last one.
    pub fn next_directory(&mut self) -> Option<Inode> {
        self.pending.pop()
    }

    /// The note about an inode; `None` if it was not met.
    #[must_use]
    pub fn note(&self, nid: Nid) -> Option<&T> {
        self.notes.get(&nid)
    }

    /// As [`Self::note`], to be changed.
    pub fn note_mut(&mut self, nid: Nid) -> Option<&mut T> {
        self.notes.get_mut(&nid)
    }

    /// All inodes with their notes, in no particular order.
    pub fn notes(&self) -> impl Iterator<Item = (Nid, &T)> {
        self.notes.iter().map(|(nid, note)| (*nid, note))
    }
}

#[cfg(test)]
mod tests {
    use lith_device::FileDevice;
    use lith_reader::Image;

    use super::*;

    #[test]
    fn each_inode_is_met_once() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/01-plain.erofs");
        let image = Image::open(FileDevice::open(path).unwrap()).unwrap();
        let (mut walk, mut directories) = (Walk::<u32>::default(), 0);
        walk.add(&image.root().unwrap(), 0);
        while let Some(directory) = walk.next_directory() {
            directories += 1;
            for entry in image.read_dir(&directory).unwrap() {
                let nid = entry.unwrap().nid;
                if let Some(links) = walk.note_mut(nid) {
                    *links += 1;
                } else {
                    walk.add(&image.inode(nid).unwrap(), 1);
                }
            }
        }
        assert_eq!((walk.notes().count(), directories), (70, 12));
        let nlink = |nid| image.inode(nid).unwrap().nlink;
        let is_right = |(nid, links): (Nid, &u32)| *links < 2 || *links == nlink(nid);
        assert!(walk.notes().all(is_right));
    }
}
