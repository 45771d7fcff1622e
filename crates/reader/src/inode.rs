//! Which inode does a NID name, and where are its parts?

use std::ops::Deref;

use lith_format::{addr::Nid, inode};

use crate::{
    error::{Corruption, Error, Fault},
    image::Image,
    metadata::Space,
};

/// Bytes that hold an inode of either form.
const INODE_MAX: usize = 64;

/// An inode of an image: its fields (those of [`inode::Inode`]) and where it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inode {
    /// Its identity: names with one NID are hard links of each other.
    pub nid: Nid,
    /// Where its position is counted.
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
    /// Where its xattr body begins.
    pub(crate) fn xattr_position(&self) -> Result<u64, Fault> {
        self.position_of(self.size_on_disk())
    }

    /// Where the part begins that its layout asks for.
    pub(crate) fn layout_position(&self) -> Result<u64, Fault> {
        self.position_of(self.layout_area())
    }

    fn position_of(&self, relative: usize) -> Result<u64, Fault> {
        Ok(self.position.checked_add(relative as u64).ok_or(Corruption::Address)?)
    }
}

impl Image {
    /// The inode of a NID, from a directory entry or the superblock.
    ///
    /// # Errors
    /// [`Error::Corrupt`] or [`Error::Unsupported`] if there is no such inode, [`Error::Device`] if it can't be
    /// read.
    pub fn inode(&self, nid: Nid) -> Result<Inode, Error> {
        self.load_inode(nid).map_err(|fault| fault.of(nid))
    }

    fn load_inode(&self, nid: Nid) -> Result<Inode, Fault> {
        let sb = self.superblock();
        let position = nid.position(sb.meta_blkaddr, sb.block).ok_or(Corruption::Address)?;
        let space = if nid.in_metabox() { Space::Metabox } else { Space::Primary };
        let mut bytes = [0; INODE_MAX];
        // A compact inode may be the last thing there is: it must not fail for what would follow it.
        let (compact, rest) = bytes.split_at_mut(inode::InodeForm::Compact.size());
        self.read_metadata(space, position, compact)?;
        if inode::InodeForm::of(compact) == Some(inode::InodeForm::Extended) {
            let behind = position.checked_add(compact.len() as u64).ok_or(Corruption::Address)?;
            self.read_metadata(space, behind, rest)?;
        }
        let fields = inode::Inode::parse(&bytes, &sb.inode_context())?;
        Ok(Inode { nid, space, position, fields })
    }
}
