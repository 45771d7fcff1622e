//! Defines an inode of an image: its fields and where its parts are.

use std::ops::Deref;

use lith_format::{addr::Nid, inode};

use crate::{
    error::{Corruption, Fault},
    piece::Space,
};

/// An inode of an image: its fields (those of [`inode::Inode`]) and its position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inode {
    /// Its identity: names with one NID are hard links of each other.
    pub nid: Nid,
    /// The space in which its position is counted.
    pub space: Space,
    /// Its first byte there.
    pub position: u64,
    fields: inode::Inode,
}

impl Deref for Inode {
    type Target = inode::Inode;

    fn deref(&self) -> &inode::Inode {
        &self.fields
    }
}

impl Inode {
    pub(crate) const fn new(nid: Nid, space: Space, position: u64, fields: inode::Inode) -> Self {
        Self { nid, space, position, fields }
    }

    /// Where its xattr body starts.
    pub(crate) fn xattr_position(&self) -> Result<u64, Fault> {
        self.position_of(self.size_on_disk())
    }

    /// Where the part starts that depends on its layout: an inline tail, a chunk table or a map header.
    pub(crate) fn layout_position(&self) -> Result<u64, Fault> {
        self.position_of(self.layout_area())
    }

    fn position_of(&self, relative: usize) -> Result<u64, Fault> {
        Ok(self.position.checked_add(relative as u64).ok_or(Corruption::Address)?)
    }
}
