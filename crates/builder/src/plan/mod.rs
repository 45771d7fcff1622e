//! What is decided before any file is read: the order of inodes and data, into what segments large files are cut, the
//! times and extended attributes that are stored once.

mod order;
mod prefixes;
mod times;
mod xattrs;

use lith_tree::{ExtraDevice, InodeIndex, Kind, Timestamp, Tree};

pub(crate) use prefixes::{long_prefix, whole_name};
pub(crate) use xattrs::XattrPlan;

use crate::{BuildError, Options, PIECE, compress::SEGMENT};

/// What is known before any file is read.
#[derive(Debug)]
pub(crate) struct Plan {
    /// All inodes that have a name, in the order of their places in the image.
    pub(crate) order: Vec<InodeIndex>,
    /// Bytes of a large file that are compressed as one.
    pub(crate) segment: u64,
    /// The time that compact inodes have.
    pub(crate) epoch: Timestamp,
    /// Seconds from then to the latest time of a compact inode.
    pub(crate) build_time: u32,
    /// Addresses have 48 bits, and compact inodes times of their own.
    pub(crate) wide: bool,
    /// Directories have no entry `.`.
    pub(crate) dot_omitted: bool,
    /// Block addresses may need more than 32 bits.
    pub(crate) is_far: bool,
    /// The devices that the image refers to.
    pub(crate) devices: Vec<ExtraDevice>,
    /// Where each extended attribute is stored.
    pub(crate) xattrs: XattrPlan,
}

/// So many blocks of content leave enough addresses of 32 bits for everything else.
const NEAR_BLOCKS: u64 = 1 << 31;

/// The bytes of all files.
pub(crate) fn content_sizes<'a>(
    tree: &'a Tree,
    order: &'a [InodeIndex],
) -> impl Iterator<Item = u64> + 'a {
    order.iter().map(|inode| match tree.get(*inode).kind {
        Kind::Regular { size } => size,
        _ => 0,
    })
}

/// A few workers should have something to do even if nearly all content is one file.
fn segment_for(tree: &Tree, order: &[InodeIndex]) -> u64 {
    const PARTS: u64 = 8;
    let content = content_sizes(tree, order).fold(0_u64, u64::saturating_add);
    content.div_ceil(PARTS).checked_next_multiple_of(PIECE).unwrap_or(SEGMENT).clamp(PIECE, SEGMENT)
}

impl Plan {
    /// Plans an image of `tree`.
    pub(crate) fn new(
        tree: &Tree,
        options: &Options,
        devices: Vec<ExtraDevice>,
    ) -> Result<Self, BuildError> {
        let order = order::siblings_together(tree);
        let wide = options.is_wide();
        let (epoch, build_time) = match options.identity.build_time {
            Some(time) if wide => times::base_of(time),
            Some(time) => (time, 0),
            None if wide => times::base_of_most(tree, &order),
            None => (times::most_frequent(tree, &order), 0),
        };
        let blocks = content_sizes(tree, &order).map(|size| options.layout.block.blocks_for(size));
        let end = blocks.fold(options.layout.data_start, u64::saturating_add);
        let xattrs = XattrPlan::new(tree, &order, options)?;
        let segment = segment_for(tree, &order);
        let (dot_omitted, is_far) = (options.layout.dot_omitted, wide && end > NEAR_BLOCKS);
        Ok(Self { order, segment, epoch, build_time, wide, dot_omitted, is_far, devices, xattrs })
    }
}
