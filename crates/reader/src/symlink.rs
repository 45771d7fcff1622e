//! Reads the targets of symlinks.

use lith_format::file_type::FileType;

use crate::{
    error::{Corruption, Error, Fault},
    image::Image,
    inode::Inode,
    map::Map,
    memory,
};

impl Image {
    /// The target of a symlink.
    ///
    /// # Errors
    /// [`Error::NotASymlink`], [`Error::Corrupt`] if its target is empty, too long or has a NUL in it, and as
    /// [`crate::File::read_at`].
    pub fn read_link(&self, inode: &Inode) -> Result<Vec<u8>, Error> {
        if inode.file_type != FileType::Symlink {
            return Err(Error::NotASymlink { nid: inode.nid });
        }
        self.load_target(inode).map_err(|fault| fault.of(inode.nid))
    }

    fn load_target(&self, inode: &Inode) -> Result<Vec<u8>, Fault> {
        let (length, limit) = (inode.size, self.limits.symlink);
        if length == 0 || length > limit {
            return Err(Corruption::SymlinkLength { length, limit }.into());
        }
        let mut target = vec![0; memory::length(length)];
        let map = Map::of(self, inode)?;
        self.content_of(inode, &map).read(&mut target, 0)?;
        if target.contains(&0) {
            return Err(Corruption::SymlinkNul.into());
        }
        Ok(target)
    }
}
