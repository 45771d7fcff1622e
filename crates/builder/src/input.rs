//! Defines [`Input`]: the tree that an image is built of, and what is known of its content before it is read.

mod known;
mod order;

use std::sync::LazyLock;

use lith_format::addr::BlockBits;
use lith_tree::{
    Content, ContentError, Contents, DataRange, Filesystem, Inode, InodeIndex, Kind, Tree,
};

pub use self::{
    known::{
        Following, Known, KnownContents, KnownDevice, KnownExtent, KnownFile, KnownPacked,
        KnownParts, KnownPcluster, KnownStorage, KnownStretch,
    },
    order::{EarlierPacked, Order},
};

static NOTHING_KNOWN: LazyLock<Known<'static>> = LazyLock::new(Known::new);
static TREE_ORDER: Order = Order::new();

/// What an image is built of.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// Names and attributes.
    pub(crate) tree: &'a Tree,
    contents: &'a dyn Contents,
    /// Content that other devices hold.
    pub(crate) known: &'a Known<'a>,
    /// Which files and ranges are stored first.
    pub(crate) order: &'a Order,
    /// Inodes that no directory names, in ascending order of their indices.
    pub(crate) extra: &'a [ExtraInode<'a>],
}

/// An inode that no directory names: the packed inode, or the metabox inode.
pub(crate) struct ExtraInode<'a> {
    /// The tree has no inode of this index.
    pub(crate) index: InodeIndex,
    pub(crate) inode: Inode,
    /// Where a pcluster must start, in bytes: what precedes it is read earlier.
    pub(crate) border: Option<u64>,
    /// Further places where a pcluster must start, in ascending order.
    pub(crate) cuts: Vec<u64>,
    pub(crate) content: Box<dyn Content + 'a>,
    /// How many of its first bytes are those of known packed inodes.
    pub(crate) known: u64,
}

/// Lends the content of an [`ExtraInode`], which is opened several times.
struct Lent<'a>(&'a dyn Content);

impl Content for Lent<'_> {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), ContentError> {
        self.0.read_at(buf, position)
    }

    fn range_at(&self, position: u64) -> Result<DataRange, ContentError> {
        self.0.range_at(position)
    }

    fn check_unchanged(&self) -> Result<(), ContentError> {
        self.0.check_unchanged()
    }
}

impl<'a> From<Filesystem<'a>> for Input<'a> {
    fn from(fs: Filesystem<'a>) -> Self {
        Self::new(fs)
    }
}

impl<'a> Input<'a> {
    /// A tree whose content is all read and stored, in the order of its directories.
    #[must_use]
    pub fn new(fs: Filesystem<'a>) -> Self {
        let Filesystem { tree, contents } = fs;
        Self { tree, contents, known: &NOTHING_KNOWN, order: &TREE_ORDER, extra: &[] }
    }

    /// The image refers to content that is known, and does not store it again.
    #[must_use]
    pub const fn with_known(self, known: &'a Known<'a>) -> Self {
        Self { known, ..self }
    }

    /// The content is stored in this order.
    #[must_use]
    pub const fn with_order(self, order: &'a Order) -> Self {
        Self { order, ..self }
    }

    /// The same tree with inodes that no directory names.
    pub(crate) fn with_extra<'b>(self, extra: &'b [ExtraInode<'b>]) -> Input<'b>
    where
        'a: 'b,
    {
        Input { extra, ..self }
    }

    /// The devices that files of the tree and known content refer to.
    pub(crate) fn devices(self) -> Vec<KnownDevice> {
        let own = self.contents.devices().into_iter();
        let own = own.map(|device| KnownDevice { device, uniaddr: None });
        own.chain(self.known.devices.iter().cloned()).collect()
    }

    /// Whether files of the tree may refer to other devices.
    pub(crate) fn refers(self) -> bool {
        !self.contents.devices().is_empty()
    }

    /// The inode of an index: one of the tree, or an extra one.
    pub(crate) fn inode(self, index: InodeIndex) -> &'a Inode {
        match self.extra(index) {
            Some(extra) => &extra.inode,
            None => self.tree.get(index),
        }
    }

    /// Bytes of a regular file; 0 for every other type.
    pub(crate) fn size(self, index: InodeIndex) -> u64 {
        match self.inode(index).kind {
            Kind::Regular { size } => size,
            _ => 0,
        }
    }

    /// Opens a regular file.
    pub(crate) fn open(self, index: InodeIndex) -> Result<Box<dyn Content + 'a>, ContentError> {
        match self.extra(index) {
            Some(extra) => Ok(Box::new(Lent(&*extra.content))),
            None => self.contents.open(self.tree, index),
        }
    }

    /// Where a pcluster of an inode must start.
    pub(crate) fn border(self, index: InodeIndex) -> Option<u64> {
        self.extra(index).and_then(|extra| extra.border)
    }

    /// Further places where a pcluster of an inode must start, in ascending order.
    pub(crate) fn cuts(self, index: InodeIndex) -> &'a [u64] {
        self.extra(index).map_or(&[], |extra| &extra.cuts)
    }

    /// The path of an inode in the tree, without a leading slash; empty for an extra inode.
    pub(crate) fn path(self, index: InodeIndex) -> Vec<u8> {
        match self.extra(index) {
            Some(_) => Vec::new(),
            None => self.tree.path(index),
        }
    }

    /// The extra inode of an index.
    pub(crate) fn extra(self, index: InodeIndex) -> Option<&'a ExtraInode<'a>> {
        self.extra.iter().find(|extra| extra.index == index)
    }

    /// Blocks of all regular files of the tree, if each is stored uncompressed.
    pub(crate) fn content_blocks(self, block: BlockBits, order: &[InodeIndex]) -> u64 {
        let blocks = order.iter().map(|index| block.blocks_for(self.size(*index)));
        blocks.fold(0, u64::saturating_add)
    }
}
