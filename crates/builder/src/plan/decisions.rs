//! Defines [`Plan`].

use lith_tree::{InodeIndex, Timestamp};

use super::{codings::Codings, head::Head, hot::Hot, xattrs::XattrPlan};
use crate::{Chunks, KnownDevice, Options, coding::Coding};

/// What is decided before any content is read.
pub(crate) struct Plan<'a> {
    pub(crate) options: &'a Options,
    /// All inodes that have a name, in the order in which they are stored.
    pub(crate) order: Vec<InodeIndex>,
    /// How many of them come first because they are used first, the root included.
    pub(crate) first: usize,
    /// All regular files that have content, in the order in which that is stored.
    pub(crate) files: Vec<InodeIndex>,
    /// The ranges of files that are stored before all others.
    pub(crate) hot: Hot,
    /// The index of the packed inode, if there will be one.
    pub(crate) packed: InodeIndex,
    /// Bytes of a large file that are compressed as one.
    pub(crate) segment: u64,
    /// The time that compact inodes have.
    pub(crate) epoch: Timestamp,
    /// Seconds from then to the latest time of a compact inode.
    pub(crate) build_time: u32,
    /// Addresses have 48 bits, and compact inodes times of their own.
    pub(crate) wide: bool,
    /// Block addresses may need more than 32 bits.
    pub(crate) is_far: bool,
    /// Whether the last pcluster of a file may be stored beside its inode.
    pub(crate) tail_packing: bool,
    /// The devices that the image refers to.
    pub(crate) devices: Vec<KnownDevice>,
    /// Where each extended attribute is stored.
    pub(crate) xattrs: XattrPlan,
    /// Where the superblock's companions are.
    pub(crate) head: Head,
    pub(super) codings: Codings,
}

impl Plan<'_> {
    /// The index of the metabox inode, if there will be one.
    pub(crate) const fn metabox(&self) -> InodeIndex {
        self.packed.next()
    }

    /// How many inodes there can be, extra ones included.
    pub(crate) const fn inodes(&self) -> usize {
        self.metabox().next().index()
    }

    /// Whether no directory names an inode: the packed inode and the metabox inode.
    pub(crate) fn is_extra(&self, index: InodeIndex) -> bool {
        index >= self.packed
    }

    /// How a file is compressed; `None` if it is stored uncompressed.
    pub(crate) fn coding(&self, index: InodeIndex) -> Option<&Coding> {
        self.codings.of(index)
    }

    /// The number of a file's coding: files of equal numbers are stored alike, those of number 0 as the options request
    /// for the image.
    pub(crate) fn coding_number(&self, index: InodeIndex) -> usize {
        self.codings.number(index)
    }

    /// The coding of what is read first of a file, if it is another than the file's own. `Some(None)`: uncompressed.
    #[expect(clippy::option_option, reason = "one for another coding, one for none")]
    pub(crate) fn hot_coding(&self, index: InodeIndex) -> Option<Option<&Coding>> {
        self.codings.of_hot(index)
    }

    /// Whether some file may be compressed.
    pub(crate) fn compresses(&self) -> bool {
        self.codings.compress()
    }

    /// The most bytes of a file's end that become a fragment: none of an extra inode, nor of a file that is compressed in
    /// another way than the packed inode.
    pub(crate) fn longest_fragment(&self, index: InodeIndex) -> u64 {
        let is_like_packed = !self.is_extra(index) && self.coding_number(index) == 0;
        if is_like_packed { self.options.longest_fragment() } else { 0 }
    }

    /// The chunks of a file that is stored uncompressed; `None` if its blocks are contiguous, as those of extra inodes are.
    pub(crate) fn chunks(&self, index: InodeIndex) -> Option<Chunks> {
        self.options.layout.chunks.filter(|_| !self.is_extra(index))
    }

    /// The most blocks that the image can have: after them come the last addresses, which have special meanings, or the
    /// devices that have addresses already.
    pub(crate) fn most_blocks(&self) -> u64 {
        let starts = self.devices.iter().filter_map(|known| known.uniaddr).map(|start| start.0);
        starts.fold(self.options.most_blocks(), u64::min)
    }

    /// Whether the long prefixes of extended attributes are stored outside of a packed inode.
    pub(crate) fn has_plain_prefixes(&self, has_packed: bool) -> bool {
        !has_packed || self.options.has_plain_prefixes()
    }
}
