//! Fills the replies to reads of directories.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

use fuser::{FileAttr, Generation, ReplyDirectory, ReplyDirectoryPlus};
use lith_format::{addr::Nid, file_type::FileType};
use lith_reader::{DirEntry, DirPosition, Error, Image};

use crate::attributes::{Attributes, FOREVER, kind};

/// Bits of an index: a block of 64 KiB has fewer than 5,461 entries.
const INDEX_BITS: u32 = 16;

/// What `telldir` returns: 0 precedes everything, even a `.` that is not stored; everything else is
/// the position of the next stored entry, so reading continues without the entries before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cookie(pub(crate) u64);

impl Cookie {
    pub(crate) const fn at(position: DirPosition) -> Self {
        Self((position.block << INDEX_BITS | position.index as u64) + 1)
    }

    /// The position. `None`: before everything.
    pub(crate) const fn position(self) -> Option<DirPosition> {
        match self.0.checked_sub(1) {
            None => None,
            Some(packed) => {
                let index = (packed & 0xffff) as u16;
                Some(DirPosition { block: packed >> INDEX_BITS, index })
            }
        }
    }
}

/// A directory of an image, from some position on.
pub(crate) struct Listing<'a> {
    pub(crate) image: &'a Image,
    pub(crate) attributes: &'a Attributes,
    pub(crate) nid: Nid,
    pub(crate) from: Cookie,
}

impl Listing<'_> {
    /// Adds names and kinds, as many as fit; returns the regular files among them.
    pub(crate) fn fill(&self, reply: &mut ReplyDirectory) -> Result<Vec<Nid>, Error> {
        self.each(|entry, next| {
            let number = self.attributes.numbers.number(entry.nid);
            let file_type = self.file_type(entry);
            reply.add(number, next.0, kind(file_type), OsStr::from_bytes(&entry.name))
        })
    }

    /// Adds names with all that `stat` shows, as many as fit.
    pub(crate) fn fill_plus(&self, reply: &mut ReplyDirectoryPlus) -> Result<Vec<Nid>, Error> {
        self.each(|entry, next| {
            let (name, attributes) = (OsStr::from_bytes(&entry.name), self.attributes_of(entry));
            reply.add(attributes.ino, next.0, name, &FOREVER, &attributes, Generation(0))
        })
    }

    /// Calls `add` with each entry and the cookie of what follows it, until it returns that the reply is full. An error is
    /// returned only if no entry precedes it; otherwise the next request meets it again.
    fn each(&self, mut add: impl FnMut(&DirEntry, Cookie) -> bool) -> Result<Vec<Nid>, Error> {
        let directory = self.image.inode(self.nid)?;
        let start = self.from.position();
        let mut entries =
            self.image.read_dir(&directory)?.with_dots().starting_at(start.unwrap_or_default());
        let (mut is_first, mut files) = (true, Vec::new());
        if start.is_none() && directory.dot_omitted {
            let (name, file_type) = (b".".to_vec(), Some(FileType::Directory));
            let dot = DirEntry { name, nid: self.nid, file_type };
            if add(&dot, Cookie::at(entries.position())) {
                return Ok(files);
            }
            is_first = false;
        }
        while let Some(entry) = entries.next() {
            match entry {
                Ok(entry) if add(&entry, Cookie::at(entries.position())) => break,
                Ok(entry) => {
                    is_first = false;
                    files.extend((entry.file_type == Some(FileType::Regular)).then_some(entry.nid));
                }
                Err(error) if is_first => return Err(error),
                Err(_) => break,
            }
        }
        Ok(files)
    }

    fn attributes_of(&self, entry: &DirEntry) -> FileAttr {
        match self.image.inode(entry.nid) {
            Ok(inode) => self.attributes.of(&inode),
            Err(_) => {
                self.attributes.unknown(entry.nid, entry.file_type.unwrap_or(FileType::Regular))
            }
        }
    }

    fn file_type(&self, entry: &DirEntry) -> FileType {
        let stored = || self.image.inode(entry.nid).map(|inode| inode.file_type);
        entry.file_type.or_else(|| stored().ok()).unwrap_or(FileType::Regular)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_lead_back() {
        assert_eq!(Cookie(0).position(), None);
        for (block, index) in [(0, 0), (0, 5460), (1, 0), (1 << 25, 7)] {
            let position = DirPosition { block, index };
            assert_eq!(Cookie::at(position).position(), Some(position));
        }
    }
}
