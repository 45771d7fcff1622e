//! Defines [`Geometry`]: the sizes of inodes and of what is stored beside them, as far as the plan decides them.

use lith_format::{
    addr::BlockBits,
    dirent::directory_size,
    file_type::FileType,
    inode::{Inode, InodeContext, InodeData, InodeForm, Layout, Rdev},
    xattr::icount_of,
};
use lith_tree::{Directory, InodeIndex, Kind, Timestamp};

use super::decisions::Plan;
use crate::{BuildError, Input, limits::SYMLINK};

/// Computes sizes from the inodes of an input and a plan.
#[derive(Clone, Copy)]
pub(crate) struct Geometry<'a> {
    pub(crate) input: Input<'a>,
    pub(crate) plan: &'a Plan<'a>,
}

impl Geometry<'_> {
    const fn block(self) -> BlockBits {
        self.plan.options.layout.block
    }

    /// Whether blocks of a file's uncompressed extents are rotated by their positions: in a packed inode that begins with one
    /// of which that is so.
    pub(crate) fn is_interlaced(self, index: InodeIndex) -> bool {
        let known = self.input.known.packed.as_ref();
        index == self.plan.packed && known.is_some_and(|known| known.interlaced)
    }

    /// Bytes of extended attributes that follow an inode.
    pub(crate) fn xattr_size(self, index: InodeIndex) -> usize {
        self.plan.xattrs.body_size(index, self.input.inode(index).metadata.xattrs)
    }

    /// Bytes of an inode's content.
    pub(crate) fn content_size(self, index: InodeIndex) -> u64 {
        match &self.input.inode(index).kind {
            Kind::Directory(directory) => {
                let dot_omitted = self.plan.options.layout.dot_omitted;
                let names = entries_with_dots(directory, dot_omitted).map(|(name, _)| name);
                directory_size(names, self.block())
            }
            Kind::Regular { size } => *size,
            Kind::Symlink(target) => target.len() as u64,
            _ => 0,
        }
    }

    /// An inode without its content's address.
    pub(crate) fn inode(self, index: InodeIndex, size: u64) -> Inode {
        let Self { plan, .. } = self;
        let mut inode = self.compact(index, size);
        // Addresses that are not known yet may need room that compact inodes have for one link only.
        let is_directory = inode.file_type == FileType::Directory;
        let may_need_room = plan.is_far && (inode.nlink != 1 || is_directory);
        if may_need_room || plan.options.attributes.inode_form == crate::InodeForm::Extended {
            inode.form = InodeForm::Extended;
            return inode;
        }
        inode.form = inode.smallest_form(&self.context());
        if inode.form == InodeForm::Extended && plan.options.ignores_mtime() {
            let Timestamp { sec: mtime, nsec: mtime_nsec } = plan.epoch;
            let timeless = Inode { mtime, mtime_nsec, ..inode };
            let form = timeless.smallest_form(&self.context());
            inode = if form == InodeForm::Compact { Inode { form, ..timeless } } else { inode };
        }
        inode
    }

    fn compact(self, index: InodeIndex, size: u64) -> Inode {
        let inode = inode_of(self.input.inode(index), size, self.xattr_size(index));
        let omits_dot = self.plan.options.layout.dot_omitted;
        Inode { dot_omitted: omits_dot && inode.file_type == FileType::Directory, ..inode }
    }

    /// What compact inodes take from the superblock.
    pub(crate) const fn context(self) -> InodeContext {
        let Plan { epoch, wide, .. } = *self.plan;
        InodeContext { epoch: epoch.sec, fixed_nsec: epoch.nsec, wide }
    }

    /// Bytes of an inode and its extended attributes.
    fn head(self, index: InodeIndex, size: u64) -> u64 {
        (self.inode(index, size).size_on_disk() + self.xattr_size(index)) as u64
    }

    /// Bytes at the end of an uncompressed file or directory that are stored beside its inode.
    pub(crate) fn inline_tail(self, index: InodeIndex, size: u64) -> u32 {
        let is_regular = matches!(self.input.inode(index).kind, Kind::Regular { .. });
        if is_regular && !self.plan.options.layout.inline_data {
            return 0;
        }
        tail_beside(self.head(index, size), size, self.block())
    }

    /// The distance from the start of a compressed file's inode to its map header, in bytes.
    pub(crate) fn map_header(self, index: InodeIndex, size: u64) -> u64 {
        self.head(index, size).next_multiple_of(8)
    }

    /// The directories whose content is stored in the packed inode, and their bytes: those that don't fit beside their
    /// inodes.
    pub(crate) fn packed_directories(self) -> Vec<(InodeIndex, u64)> {
        if !self.plan.options.compression.pack_directories {
            return Vec::new();
        }
        let in_blocks = |index: &InodeIndex| {
            self.input.inode(*index).as_directory()?;
            let size = self.content_size(*index);
            (u64::from(self.inline_tail(*index, size)) < size).then_some((*index, size))
        };
        self.plan.order.iter().filter_map(in_blocks).collect()
    }

    /// Refuses the first symbolic link whose target Linux would not read.
    pub(super) fn check_symlinks(self) -> Result<(), BuildError> {
        let length = |index: &InodeIndex| match &self.input.inode(*index).kind {
            Kind::Symlink(target) => target.len(),
            _ => 0,
        };
        match self.plan.order.iter().find(|index| length(index) > SYMLINK) {
            Some(index) => Err(BuildError::Symlink {
                path: self.input.path(*index),
                found: length(index),
                limit: SYMLINK,
            }),
            None => Ok(()),
        }
    }

    /// Refuses the first file that does not fit the requested form of inodes.
    pub(super) fn check_forms(self) -> Result<(), BuildError> {
        if self.plan.options.attributes.inode_form != crate::InodeForm::Compact {
            return Ok(());
        }
        let is_extended = |index: &&InodeIndex| {
            self.inode(**index, self.content_size(**index)).form == InodeForm::Extended
        };
        match self.plan.order.iter().find(is_extended) {
            Some(index) => Err(BuildError::NotCompact { path: self.input.path(*index) }),
            None => Ok(()),
        }
    }
}

/// The target of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The directory itself: `.`
    Own,
    /// The parent directory: `..`
    Parent,
    /// An inode.
    Inode(InodeIndex),
}

impl Target {
    /// Where an entry of the directory `own` leads.
    pub(crate) const fn of(self, own: InodeIndex, parent: InodeIndex) -> InodeIndex {
        match self {
            Self::Own => own,
            Self::Parent => parent,
            Self::Inode(inode) => inode,
        }
    }
}

/// A directory's entries with `..`, and unless it is omitted `.`, among them, in ascending order of bytes.
pub(crate) fn entries_with_dots(
    directory: &Directory,
    dot_omitted: bool,
) -> impl Iterator<Item = (&[u8], Target)> {
    let dots = [(&b"."[..], Target::Own), (&b".."[..], Target::Parent)].into_iter();
    let mut dots = dots.skip(usize::from(dot_omitted)).peekable();
    let entries = directory.entries();
    let mut entries = entries.map(|(n, i)| (n.as_bytes(), Target::Inode(i))).peekable();
    std::iter::from_fn(move || match (dots.peek(), entries.peek()) {
        (Some((dot, _)), Some((name, _))) if name < dot => entries.next(),
        (Some(_), _) => dots.next(),
        (None, _) => entries.next(),
    })
}

/// A compact inode with content of `size` bytes that has no address yet, and a body of `xattr_size` bytes.
pub(crate) fn inode_of(node: &lith_tree::Inode, size: u64, xattr_size: usize) -> Inode {
    let metadata = node.metadata;
    let file_type = file_type(&node.kind);
    let icount = icount_of(xattr_size);
    Inode {
        form: InodeForm::Compact,
        layout: Layout::FlatPlain,
        file_type,
        mode: file_type.mode_bits() | (metadata.permissions & 0o7777),
        nlink: node.nlink(),
        size,
        uid: metadata.uid,
        gid: metadata.gid,
        mtime: metadata.mtime.sec,
        mtime_nsec: metadata.mtime.nsec,
        xattr_icount: icount.expect("the plan refuses attributes that no count describes"),
        ino: 0,
        dot_omitted: false,
        data: match node.kind {
            Kind::CharDevice(rdev) | Kind::BlockDevice(rdev) => {
                InodeData::Device(Rdev { major: rdev.major, minor: rdev.minor })
            }
            Kind::Fifo | Kind::Socket => InodeData::None,
            _ => InodeData::Blocks { start: None },
        },
    }
}

/// The format's file type of an inode.
#[must_use]
pub const fn file_type(kind: &Kind) -> FileType {
    match kind {
        Kind::Directory(_) => FileType::Directory,
        Kind::Regular { .. } => FileType::Regular,
        Kind::Symlink(_) => FileType::Symlink,
        Kind::CharDevice(_) => FileType::CharDevice,
        Kind::BlockDevice(_) => FileType::BlockDevice,
        Kind::Fifo => FileType::Fifo,
        Kind::Socket => FileType::Socket,
    }
}

/// The part of the last block that fits after `head` bytes without crossing a block.
pub(crate) fn tail_beside(head: u64, size: u64, block: BlockBits) -> u32 {
    let tail = block.within(size);
    if u64::from(block.within(head)) + u64::from(tail) <= u64::from(block.size()) {
        tail
    } else {
        0
    }
}
