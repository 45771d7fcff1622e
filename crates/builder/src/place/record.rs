//! What belongs to an inode, and how large is it?

use lith_format::{
    addr::{Blkaddr, BlockBits},
    dirent::directory_size,
    file_type::FileType,
    inode::{Inode, InodeContext, InodeData, InodeForm, Layout},
};
use lith_tree::{Directory, InodeIndex, Kind, Timestamp, XattrPool};

use crate::{
    BuildError, IndexForm,
    compress::Sources,
    data::{FileData, StoredFile},
    plan::Plan,
    write::early_shared_area,
};

/// An inode with what lies beside it.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) index: InodeIndex,
    /// The inode as it will be written, but for the address of its content.
    pub(crate) inode: Inode,
    /// Bytes of extended attributes behind the inode.
    xattrs: usize,
    /// Bytes of map header and index, or of the chunk table.
    table: u64,
    /// Bytes of an inline tail.
    inline: u64,
}

impl Record {
    /// Bytes of inode, attributes and table.
    pub(crate) fn head(&self) -> u64 {
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

    /// Bytes of a directory or symlink that lie in blocks of their own.
    pub(crate) const fn content_in_blocks(&self) -> u64 {
        match self.inode.file_type {
            FileType::Directory | FileType::Symlink if self.inode.layout.is_flat() => {
                self.inode.size - self.inline
            }
            _ => 0,
        }
    }

    /// Says where the blocks of a directory or symlink begin.
    pub(crate) const fn set_content_start(&mut self, start: u64) {
        if self.content_in_blocks() > 0 {
            self.inode.data = InodeData::Blocks { start: Some(Blkaddr(start)) };
        }
    }
}

/// The records of all inodes, in the order of the plan.
pub(crate) struct Records<'a> {
    sources: Sources<'a>,
    plan: &'a Plan,
    files: &'a [StoredFile],
}

impl<'a> Records<'a> {
    pub(crate) const fn new(sources: Sources<'a>, plan: &'a Plan, files: &'a [StoredFile]) -> Self {
        Self { sources, plan, files }
    }

    pub(crate) const fn block(&self) -> BlockBits {
        self.sources.options.layout.block
    }

    /// How a regular file is stored.
    pub(crate) fn file(&self, inode: InodeIndex) -> Option<&StoredFile> {
        self.files.get(inode.index())
    }

    /// Where the image ends if everything in it ends at `end`, in whole blocks.
    pub(crate) fn image_end(&self, end: u64) -> Result<u64, BuildError> {
        let (options, size) = (self.sources.options, u64::from(self.block().size()));
        let blocks = (end / size).next_multiple_of(options.layout.size_alignment);
        let limit = options.most_blocks();
        if blocks > limit { Err(BuildError::TooLarge { limit }) } else { Ok(blocks * size) }
    }

    /// Where the shared attributes are, if they lie before the data: behind much data no id would reach them, and
    /// there may be nothing behind it if there is a metabox.
    pub(crate) fn early_shared_area(&self) -> Option<u64> {
        early_shared_area(self.sources.options, self.plan)
    }

    pub(crate) fn shared_area(&self) -> &[u8] {
        &self.plan.xattrs.shared_area
    }

    /// How many inodes there are, also those that lost their names.
    pub(crate) fn inodes(&self) -> usize {
        // Two more for the packed inode and the metabox.
        self.sources.tree.len() + 2
    }

    pub(crate) fn xattr_pool(&self) -> &'a XattrPool {
        &self.sources.tree.xattrs
    }

    /// Those that lie together: all, or if there is a metabox all that have a name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Record> {
        let packed = self.packed().filter(|_| !self.has_metabox());
        let indices = self.plan.order.iter().copied().chain(packed);
        indices.zip(1..).map(|(index, ino)| self.record(index, ino))
    }

    /// Those that lie outside of the metabox.
    pub(crate) fn outside(&self) -> impl Iterator<Item = Record> {
        let metabox = self.sources.metabox.get().map(|metabox| metabox.index);
        let first = u32::try_from(self.plan.order.len()).unwrap_or(u32::MAX).saturating_add(1);
        let indices = self.packed().into_iter().chain(metabox);
        indices.zip(first..).map(|(index, ino)| self.record(index, ino))
    }

    fn packed(&self) -> Option<InodeIndex> {
        self.sources.packed.get().map(|packed| packed.index)
    }

    /// Whether inodes lie in a metabox.
    pub(crate) const fn has_metabox(&self) -> bool {
        self.sources.options.compression.metabox.is_some()
    }

    fn record(&self, index: InodeIndex, ino: u32) -> Record {
        let Self { sources, plan, .. } = *self;
        let node = sources.node(index);
        let xattrs = plan.xattrs.body_size(index, node.metadata.xattrs);
        let file = self.files.get(index.index()).copied().unwrap_or_default();
        let mut inode =
            bare_inode(sources, plan, index, content_size(plan, &node.kind, self.block()));
        inode.ino = ino;
        let mut record = Record { index, inode, xattrs, table: 0, inline: 0 };
        match &node.kind {
            Kind::Directory(_) | Kind::Symlink(_) if file.data == FileData::Empty => {
                let head = (inode.size_on_disk() + xattrs) as u64;
                record.inline = u64::from(tail_beside(head, inode.size, self.block()));
            }
            Kind::Directory(_) | Kind::Regular { .. } => match file.data {
                FileData::Empty | FileData::Flat { .. } => record.inline = file.payload.len.into(),
                FileData::Compressed { inline, .. } => {
                    record.inline = inline.into();
                    record.table = u64::from(file.payload.len) - record.inline;
                }
                FileData::Chunked { .. } => record.table = file.payload.len.into(),
            },
            _ => {}
        }
        record.set_layout(file.data);
        record
    }
}

impl Record {
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

/// The directories that lie in the packed inode, and their bytes: those that don't fit beside their inodes.
pub(crate) fn packed_directories(sources: Sources<'_>, plan: &Plan) -> Vec<(InodeIndex, u64)> {
    if !sources.options.compression.pack_directories {
        return Vec::new();
    }
    let block = sources.options.layout.block;
    let in_blocks = |index: &InodeIndex| {
        let node = sources.node(*index);
        node.as_directory()?;
        let size = content_size(plan, &node.kind, block);
        (u64::from(inline_tail(sources, plan, *index, size)) < size).then_some((*index, size))
    };
    plan.order.iter().filter_map(in_blocks).collect()
}

/// An inode without its content's address.
fn bare_inode(sources: Sources<'_>, plan: &Plan, index: InodeIndex, size: u64) -> Inode {
    let node = sources.node(index);
    let metadata = node.metadata;
    let file_type = file_type(&node.kind);
    let body = plan.xattrs.body_size(index, metadata.xattrs);
    let mut inode = Inode {
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
        // The plan only holds bodies that have a count.
        xattr_icount: lith_format::xattr::icount_of(body).unwrap_or(0),
        ino: 0,
        dot_omitted: plan.dot_omitted && file_type == FileType::Directory,
        data: match node.kind {
            Kind::CharDevice(rdev) | Kind::BlockDevice(rdev) => {
                InodeData::Device(lith_format::inode::Rdev { major: rdev.major, minor: rdev.minor })
            }
            Kind::Fifo | Kind::Socket => InodeData::None,
            _ => InodeData::Blocks { start: None },
        },
    };
    // Addresses that are not known yet may need room that compact inodes have for one link only.
    let may_need_room = plan.is_far && (inode.nlink != 1 || file_type == FileType::Directory);
    if may_need_room || sources.options.attributes.inode_form == crate::InodeForm::Extended {
        inode.form = InodeForm::Extended;
        return inode;
    }
    inode.form = inode.smallest_form(&context(plan));
    if inode.form == InodeForm::Extended && sources.options.ignores_mtime() {
        let Timestamp { sec: mtime, nsec: mtime_nsec } = plan.epoch;
        let timeless = Inode { mtime, mtime_nsec, ..inode };
        let form = timeless.smallest_form(&context(plan));
        inode = if form == InodeForm::Compact { Inode { form, ..timeless } } else { inode };
    }
    inode
}

/// Refuses the first file that has no room in the form of inode that is asked for.
pub(crate) fn check_forms(sources: Sources<'_>, plan: &Plan) -> Result<(), BuildError> {
    if sources.options.attributes.inode_form != crate::InodeForm::Compact {
        return Ok(());
    }
    let is_extended = |index: &&InodeIndex| {
        let size = content_size(plan, &sources.node(**index).kind, sources.options.layout.block);
        bare_inode(sources, plan, **index, size).form == InodeForm::Extended
    };
    match plan.order.iter().find(is_extended) {
        Some(index) => Err(BuildError::NotCompact { path: sources.path(*index) }),
        None => Ok(()),
    }
}

/// What compact inodes take from the superblock.
pub(crate) fn context(plan: &Plan) -> InodeContext {
    InodeContext { epoch: plan.epoch.sec, fixed_nsec: plan.epoch.nsec, wide: plan.wide }
}

fn content_size(plan: &Plan, kind: &Kind, block: BlockBits) -> u64 {
    match kind {
        Kind::Directory(directory) => directory_size(names(plan, directory), block),
        Kind::Regular { size } => *size,
        Kind::Symlink(target) => target.len() as u64,
        _ => 0,
    }
}

/// A directory's names with its dots, in ascending order of bytes.
fn names<'a>(plan: &Plan, directory: &'a Directory) -> impl Iterator<Item = &'a [u8]> {
    entries_with_dots(plan, directory).map(|(name, _)| name)
}

/// Where a name of a directory leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leads {
    /// `.`
    Here,
    /// `..`
    Up,
    /// To an inode.
    To(InodeIndex),
}

/// A directory's entries with `..`, and unless it is omitted `.`, among them, in ascending order of bytes.
pub(crate) fn entries_with_dots<'a>(
    plan: &Plan,
    directory: &'a Directory,
) -> impl Iterator<Item = (&'a [u8], Leads)> {
    let dots = [(&b"."[..], Leads::Here), (&b".."[..], Leads::Up)].into_iter();
    let mut dots = dots.skip(usize::from(plan.dot_omitted)).peekable();
    let mut entries = directory.entries().map(|(n, i)| (n.as_bytes(), Leads::To(i))).peekable();
    std::iter::from_fn(move || match (dots.peek(), entries.peek()) {
        (Some((dot, _)), Some((name, _))) if name < dot => entries.next(),
        (Some(_), _) => dots.next(),
        (None, _) => entries.next(),
    })
}

const fn file_type(kind: &Kind) -> FileType {
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

/// The type that a directory entry states for an inode.
pub(crate) fn dirent_type(kind: &Kind) -> u8 {
    file_type(kind).dirent_type()
}

/// Bytes at the end of a file or directory that can lie beside its inode, if it is stored plain.
pub(crate) fn inline_tail(sources: Sources<'_>, plan: &Plan, index: InodeIndex, size: u64) -> u32 {
    let is_regular = matches!(sources.node(index).kind, Kind::Regular { .. });
    if is_regular && !sources.options.layout.inline_data {
        return 0;
    }
    let inode = bare_inode(sources, plan, index, size);
    let body = plan.xattrs.body_size(index, sources.node(index).metadata.xattrs);
    tail_beside((inode.size_on_disk() + body) as u64, size, sources.options.layout.block)
}

/// Where the map header of a compressed file stands behind its inode's start.
pub(crate) fn map_header(sources: Sources<'_>, plan: &Plan, index: InodeIndex, size: u64) -> u64 {
    let inode = bare_inode(sources, plan, index, size);
    let body = plan.xattrs.body_size(index, sources.node(index).metadata.xattrs);
    ((inode.size_on_disk() + body) as u64).next_multiple_of(8)
}

/// The part of the last block that fits behind `head` bytes without crossing a block.
fn tail_beside(head: u64, size: u64, block: BlockBits) -> u32 {
    let tail = block.within(size);
    if u64::from(block.within(head)) + u64::from(tail) <= u64::from(block.size()) {
        tail
    } else {
        0
    }
}
