//! Loads the inode of a NID.

use lith_format::{
    addr::Nid,
    inode::{self, InodeForm},
};

use crate::{
    error::{Corruption, Error, Fault},
    image::Image,
    inode::Inode,
    metadata::Metadata,
    piece::Space,
};

/// Bytes of the longer form of an inode.
const INODE_MAX: usize = 64;

impl Image {
    /// The root directory.
    ///
    /// # Errors
    /// As [`Self::inode`].
    pub fn root(&self) -> Result<Inode, Error> {
        self.inode(self.superblock.root_nid)
    }

    /// The inode of a NID, from a directory entry or the superblock.
    ///
    /// # Errors
    /// [`Error::Corrupt`] or [`Error::Unsupported`] if there is no such inode, [`Error::Device`] if it can't be
    /// read.
    pub fn inode(&self, nid: Nid) -> Result<Inode, Error> {
        self.load_inode(nid).map_err(|fault| fault.of(nid))
    }

    fn load_inode(&self, nid: Nid) -> Result<Inode, Fault> {
        let sb = &self.superblock;
        let position = nid.position(sb.meta_blkaddr, sb.block).ok_or(Corruption::Address)?;
        let space = if nid.in_metabox() { Space::Metabox } else { Space::Primary };
        let mut bytes = [0; INODE_MAX];
        // A compact inode may be the last bytes of its space: no more than its own bytes are read.
        let (compact, rest) = bytes.split_at_mut(InodeForm::Compact.size());
        self.read_metadata(space, position, compact)?;
        if InodeForm::of(compact) == Some(InodeForm::Extended) {
            let after = position.checked_add(compact.len() as u64).ok_or(Corruption::Address)?;
            self.read_metadata(space, after, rest)?;
        }
        let fields = inode::Inode::parse(&bytes, &sb.inode_context())?;
        Ok(Inode::new(nid, space, position, fields))
    }
}
