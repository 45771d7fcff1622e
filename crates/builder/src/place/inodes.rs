//! Defines [`SizedInode`]: an inode with the sizes of what is stored beside it.

use lith_format::{
    addr::{Blkaddr, BlockBits},
    file_type::FileType,
    inode::{Inode, InodeData, Layout},
};
use lith_tree::{InodeIndex, Kind};

use crate::{
    BuildError, IndexForm,
    plan::{Geometry, tail_beside},
    store::{FileData, FileTable},
};

/// An inode with the sizes of what is stored beside it.
#[derive(Debug)]
pub(crate) struct SizedInode {
    pub(crate) index: InodeIndex,
    /// The inode as it will be written, except the address of its content.
    pub(crate) inode: Inode,
    /// Bytes of extended attributes after the inode.
    xattrs: usize,
    /// Bytes of map header and index, or of the chunk table.
    table: u64,
    /// Bytes of an inline tail.
    inline: u64,
}

impl SizedInode {
    /// Bytes of inode, attributes and table.
    pub(crate) fn fixed(&self) -> u64 {
        self.table_start() + self.table
    }

    /// Bytes from the inode's start to its table, or to its inline tail.
    pub(crate) fn table_start(&self) -> u64 {
        let end = self.attributes_end() as u64;
        match (self.inode.layout, self.inode.data) {
            (Layout::CompressedFull | Layout::CompressedCompact, _) => end.next_multiple_of(8),
            (_, InodeData::Chunked(format)) => end.next_multiple_of(format.unit() as u64),
            _ => end,
        }
    }

    /// Bytes from the inode's start to the end of its extended attributes.
    pub(crate) const fn attributes_end(&self) -> usize {
        self.inode.size_on_disk() + self.xattrs
    }

    /// Bytes of the inline tail.
    pub(crate) const fn tail(&self) -> u64 {
        self.inline
    }

    /// Bytes of a directory or symlink that are stored in blocks of their own.
    pub(crate) const fn content_in_blocks(&self) -> u64 {
        match self.inode.file_type {
            FileType::Directory | FileType::Symlink if self.inode.layout.is_flat() => {
                self.inode.size - self.inline
            }
            _ => 0,
        }
    }

    /// Sets the first block of a directory or symlink.
    pub(crate) const fn set_content_start(&mut self, start: u64) {
        if self.content_in_blocks() > 0 {
            self.inode.data = InodeData::Blocks { start: Some(Blkaddr(start)) };
        }
    }

    /// Moves the blocks of a regular file.
    pub(crate) const fn move_content(&mut self, by: u64) {
        if let (FileType::Regular, InodeData::Blocks { start: Some(Blkaddr(start)) }) =
            (self.inode.file_type, &mut self.inode.data)
            && self.inode.size > self.inline
        {
            *start += by;
        }
    }

    fn set_layout(&mut self, data: FileData) {
        let has_full_blocks = self.inode.size > self.inline;
        (self.inode.layout, self.inode.data) = match (self.inode.data, data) {
            (InodeData::Blocks { .. }, FileData::Compressed { blocks, index, .. }) => {
                let layout = match index {
                    IndexForm::Compact => Layout::CompressedCompact,
                    IndexForm::Full | IndexForm::Records => Layout::CompressedFull,
                };
                (layout, InodeData::Compressed { blocks })
            }
            (InodeData::Blocks { .. }, FileData::Chunked { format, .. }) => {
                (Layout::ChunkBased, InodeData::Chunked(format))
            }
            (InodeData::Blocks { .. }, FileData::Flat { start }) if has_full_blocks => {
                (self.flat_layout(), InodeData::Blocks { start: Some(Blkaddr(start)) })
            }
            (InodeData::Blocks { .. }, _) if self.inode.size == 0 => {
                (Layout::FlatPlain, InodeData::Blocks { start: Some(Blkaddr(0)) })
            }
            (other, _) => (self.flat_layout(), other),
        };
    }

    const fn flat_layout(&self) -> Layout {
        if self.inline > 0 { Layout::FlatInline } else { Layout::FlatPlain }
    }
}

/// The sizes of all inodes, in the order of the plan.
#[derive(Clone, Copy)]
pub(crate) struct SizedInodes<'a> {
    pub(crate) geometry: Geometry<'a>,
    pub(crate) files: &'a FileTable,
}

impl<'a> SizedInodes<'a> {
    pub(crate) const fn block(self) -> BlockBits {
        self.geometry.plan.options.layout.block
    }

    /// Bytes of an image in which everything ends at byte `end`, in whole blocks.
    pub(super) fn image_end(self, end: u64) -> Result<u64, BuildError> {
        let (plan, size) = (self.geometry.plan, u64::from(self.block().size()));
        let blocks = (end / size).next_multiple_of(plan.options.layout.size_alignment);
        let limit = plan.most_blocks();
        if blocks > limit { Err(BuildError::TooLarge { limit }) } else { Ok(blocks * size) }
    }

    /// Those that have names, and those of `extra` that are stored with them.
    pub(crate) fn with_names(
        self,
        extra: &'a [InodeIndex],
    ) -> impl Iterator<Item = SizedInode> + use<'a> {
        let indices = self.geometry.plan.order.iter().chain(extra);
        indices.zip(1..).map(move |(index, ino)| self.sized(*index, ino))
    }

    /// Extra inodes that are stored apart from all others.
    pub(crate) fn apart(
        self,
        extra: &'a [InodeIndex],
    ) -> impl Iterator<Item = SizedInode> + use<'a> {
        let named = u32::try_from(self.geometry.plan.order.len());
        let first = named.expect("a tree has fewer inodes than 32 bits count") + 1;
        extra.iter().zip(first..).map(move |(index, ino)| self.sized(*index, ino))
    }

    fn sized(self, index: InodeIndex, ino: u32) -> SizedInode {
        let geometry = self.geometry;
        let file = self.files.get(index);
        let mut inode = geometry.inode(index, geometry.content_size(index));
        inode.ino = ino;
        let xattrs = geometry.xattr_size(index);
        let mut sized = SizedInode { index, inode, xattrs, table: 0, inline: 0 };
        let payload = u64::from(file.payload.len);
        match &geometry.input.inode(index).kind {
            Kind::Directory(_) | Kind::Symlink(_) if file.data == FileData::Empty => {
                let head = sized.attributes_end() as u64;
                sized.inline = u64::from(tail_beside(head, inode.size, self.block()));
            }
            Kind::Directory(_) | Kind::Regular { .. } => match file.data {
                FileData::Empty | FileData::Flat { .. } => sized.inline = payload,
                FileData::Compressed { inline, .. } => {
                    sized.inline = inline.into();
                    sized.table = payload - sized.inline;
                }
                FileData::Chunked { .. } => sized.table = payload,
            },
            _ => {}
        }
        sized.set_layout(file.data);
        sized
    }
}
