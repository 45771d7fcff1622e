//! Computes the compression ratio as fsck.erofs does.

use lith::{
    format::{addr::Nid, file_type::FileType},
    reader::{Error, ExtentKind, Image, Inode},
};

use crate::applets::display::Percent;

/// Blocks of all names, uncompressed and as stored; a file with two hard links counts twice.
#[derive(Default)]
struct Blocks {
    logical: u64,
    physical: u64,
}

/// The stored blocks in percent of the uncompressed blocks, of the inode `start` and everything below it or of the whole
/// image.
pub(super) fn of(image: &Image, start: Option<Nid>) -> Result<Percent, Error> {
    let mut blocks = Blocks::default();
    let start = start.map_or_else(|| image.root(), |nid| image.inode(nid))?;
    if start.nid == image.superblock().root_nid
        && let Some(packed) = image.packed_inode()
    {
        blocks.physical += stored(image, packed)?;
    }
    blocks.add(image, &start)?;
    if start.file_type == FileType::Directory {
        for visit in image.files_below(&start) {
            blocks.add(image, &visit?.inode)?;
        }
    }
    Ok(Percent(blocks.physical, blocks.logical))
}

impl Blocks {
    fn add(&mut self, image: &Image, inode: &Inode) -> Result<(), Error> {
        let logical = image.superblock().block.blocks_for(inode.size);
        self.logical = self.logical.saturating_add(logical);
        self.physical = self.physical.saturating_add(stored(image, inode)?);
        Ok(())
    }
}

/// Blocks that a file takes. Holes take none; fragments are counted with the packed inode.
fn stored(image: &Image, inode: &Inode) -> Result<u64, Error> {
    if !inode.file_type.has_content() {
        return Ok(0);
    }
    let mut bytes = 0_u64;
    for extent in image.extents(inode)? {
        let extent = extent?;
        if extent.kind != ExtentKind::Fragment {
            bytes = bytes.saturating_add(extent.plen);
        }
    }
    Ok(image.superblock().block.blocks_for(bytes))
}
