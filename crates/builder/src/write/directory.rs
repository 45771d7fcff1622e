//! Packs directories.

use lith_format::{
    addr::{BlockBits, Nid},
    dirent::{DirPacker, DirentError},
    file_type::FileType,
};
use lith_tree::InodeIndex;

/// The content of a directory with these entries, `.` and `..` among them; `of` has the NID and type of each inode.
pub(crate) fn pack_directory<'n>(
    entries: impl Iterator<Item = (&'n [u8], InodeIndex)>,
    block: BlockBits,
    of: impl Fn(InodeIndex) -> (Nid, FileType),
) -> Result<Vec<u8>, DirentError> {
    let mut packer = DirPacker::new(block);
    for (name, inode) in entries {
        let (nid, kind) = of(inode);
        packer.push(name, nid, kind.dirent_type())?;
    }
    Ok(packer.finish())
}
