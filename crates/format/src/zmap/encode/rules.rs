//! Defines which extents can be indexed, and why others can't.

use alloc::vec::Vec;

use super::{
    super::{MAX_EXTENT_LEN, MAX_PCLUSTER_BLOCKS, MAX_PCLUSTER_SIZE, index::HeadKind},
    params::{EncodeParams, EncodedExtent, Tail},
};
use crate::addr::Blkaddr;

/// Why extents can't be indexed. `extent` counts from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The extents don't add up to the file.
    #[error("the extents hold {found} bytes, the file {expected}")]
    SizeDiffers {
        /// The file's bytes.
        expected: u64,
        /// The extents' bytes.
        found: u64,
    },
    /// An extent has no bytes, or more than kernels decode at once.
    #[error("extent {extent} has {llen} bytes, expected 1 to 12 MiB")]
    BadLength {
        /// Which one.
        extent: usize,
        /// Its bytes.
        llen: u32,
    },
    /// An extent ends in the lcluster in which it starts, so that two would start there.
    #[error("extent {extent} ends in the lcluster in which it starts")]
    SharedLcluster {
        /// Which one.
        extent: usize,
    },
    /// A pcluster has no blocks, more than a CBLKCNT can state, or more than 1 MiB.
    #[error("the pcluster of extent {extent} has {blocks} blocks")]
    BadPclusterSize {
        /// Which one.
        extent: usize,
        /// Its blocks.
        blocks: u16,
    },
    /// A pcluster of several blocks in an image without big pclusters, or of a PLAIN extent.
    #[error("the pcluster of extent {extent} has {blocks} blocks, expected 1")]
    ExpectedOneBlock {
        /// Which one.
        extent: usize,
        /// Its blocks.
        blocks: u16,
    },
    /// The extent doesn't cover the lcluster that would state how many blocks its pcluster has.
    #[error("extent {extent} is too short to state its pcluster's {blocks} blocks")]
    NoRoomForCblkcnt {
        /// Which one.
        extent: usize,
        /// Its blocks.
        blocks: u16,
    },
    /// A PLAIN extent is longer than its pcluster.
    #[error("plain extent {extent} has {llen} bytes, its pcluster only {plen}")]
    PlainTooLong {
        /// Which one.
        extent: usize,
        /// Its bytes.
        llen: u32,
        /// Bytes of its pcluster.
        plen: u64,
    },
    /// A compressed extent in the middle of a file is smaller than its pcluster, which newer kernels refuse.
    #[error("compressed extent {extent} has {llen} bytes, fewer than its pcluster's {plen}")]
    Expanded {
        /// Which one.
        extent: usize,
        /// Its bytes.
        llen: u32,
        /// Bytes of its pcluster.
        plen: u64,
    },
    /// Raw inline data of an interlaced inode, which some kernels rotate by mistake.
    #[error("plain extent {extent} can't be inline in an interlaced inode")]
    InlinePlainInterlaced {
        /// Which one.
        extent: usize,
    },
    /// An inline tail has no bytes or a block or more.
    #[error("the inline tail has {size} bytes, expected less than a block")]
    BadInlineSize {
        /// Its bytes.
        size: u16,
    },
    /// Compact packs can't express what this extent needs.
    #[error("extent {extent} needs full indexes: {reason}")]
    NeedsFull {
        /// Which one.
        extent: usize,
        /// Why.
        reason: NeedsFull,
    },
    /// Blocks of more than 16 KiB need full indexes.
    #[error("blocks of 2^{block_bits} bytes need full indexes")]
    BlockTooLargeForCompact {
        /// The block size's logarithm.
        block_bits: u8,
    },
    /// A compact table begins at a multiple of 8.
    #[error("a compact table can't begin {e_mod_32} bytes beyond a multiple of 32")]
    UnalignedTable {
        /// What was given.
        e_mod_32: u8,
    },
    /// A block address or the upper half of a fragment's offset doesn't fit into 32 bits.
    #[error("address {address} of extent {extent} doesn't fit into an index")]
    AddressTooHigh {
        /// Which one.
        extent: usize,
        /// The address.
        address: u64,
    },
    /// Extent records have no place for inline data.
    #[error("an inline tail can't stand beside extent records")]
    InlineBesideRecords,
    /// Another number of addresses than extents was given.
    #[error("{found} block addresses for {expected} extents")]
    AddressCount {
        /// Extents.
        expected: usize,
        /// Addresses.
        found: usize,
    },
    /// The table would exceed this machine's memory.
    #[error("a table of {size} bytes exceeds the address space")]
    TableTooLarge {
        /// Its bytes.
        size: u64,
    },
}

/// What compact packs can't express.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NeedsFull {
    /// `PARTIAL_REF`.
    #[error("it is a partial reference")]
    Partial,
    /// A fragment offset of 4 GiB or more.
    #[error("its fragment begins beyond 4 GiB")]
    FragmentOffset,
}

/// The rules that hold for all forms.
pub(super) fn check(extents: &[EncodedExtent], params: &EncodeParams) -> Result<(), EncodeError> {
    let mut start = 0_u64;
    let last = extents.len().checked_sub(1);
    for (k, &extent) in extents.iter().enumerate() {
        let tail = if Some(k) == last { params.tail } else { Tail::Blocks };
        match tail {
            Tail::Blocks => {
                check_pcluster(k, extent, params)?;
                check_cblkcnt(k, extent, start, params)?;
                check_ratio(k, extent, Some(k) == last, params)?;
            }
            Tail::Inline { size } => check_inline(k, extent, size, (start, params))?,
            Tail::Fragment { .. } => {}
        }
        let too_long = u64::from(extent.llen) > MAX_EXTENT_LEN;
        if extent.llen == 0 || (too_long && !matches!(tail, Tail::Fragment { .. })) {
            return Err(EncodeError::BadLength { extent: k, llen: extent.llen });
        }
        let end = start + u64::from(extent.llen);
        let bits = params.block_bits.bits();
        if Some(k) != last && start >> bits == end >> bits {
            return Err(EncodeError::SharedLcluster { extent: k });
        }
        start = end;
    }
    if start != params.size {
        return Err(EncodeError::SizeDiffers { expected: params.size, found: start });
    }
    Ok(())
}

/// Indexes have room for block addresses of 32 bits.
pub(super) fn check_addresses(
    extents: &[EncodedExtent],
    params: &EncodeParams,
) -> Result<(), EncodeError> {
    let in_blocks = match params.tail {
        Tail::Blocks => extents,
        _ => extents.split_last().map_or(extents, |(_, others)| others),
    };
    let blocks = in_blocks.iter().map(|extent| u64::from(extent.blocks));
    let end = blocks.fold(params.start.0, u64::saturating_add);
    if end > 1 << 32 {
        let extent = extents.len().saturating_sub(1);
        return Err(EncodeError::AddressTooHigh { extent, address: end });
    }
    Ok(())
}

fn plen(extent: EncodedExtent, params: &EncodeParams) -> u64 {
    u64::from(extent.blocks) * u64::from(params.block_bits.size())
}

fn check_pcluster(
    k: usize,
    extent: EncodedExtent,
    params: &EncodeParams,
) -> Result<(), EncodeError> {
    let blocks = extent.blocks;
    if blocks == 0 || blocks > MAX_PCLUSTER_BLOCKS || plen(extent, params) > MAX_PCLUSTER_SIZE {
        return Err(EncodeError::BadPclusterSize { extent: k, blocks });
    }
    if blocks > 1 && (!params.big_pcluster || extent.kind == HeadKind::Plain) {
        return Err(EncodeError::ExpectedOneBlock { extent: k, blocks });
    }
    Ok(())
}

fn check_cblkcnt(
    k: usize,
    extent: EncodedExtent,
    start: u64,
    params: &EncodeParams,
) -> Result<(), EncodeError> {
    let clusterofs = u64::from(params.block_bits.within(start));
    let covered = clusterofs + u64::from(extent.llen);
    let room = covered >= 2 * u64::from(params.block_bits.size());
    if extent.blocks > 1 && !room {
        return Err(EncodeError::NoRoomForCblkcnt { extent: k, blocks: extent.blocks });
    }
    Ok(())
}

fn check_ratio(
    k: usize,
    extent: EncodedExtent,
    last: bool,
    params: &EncodeParams,
) -> Result<(), EncodeError> {
    let (llen, plen) = (extent.llen, plen(extent, params));
    let plain = extent.kind == HeadKind::Plain;
    if plain && u64::from(llen) > plen {
        return Err(EncodeError::PlainTooLong { extent: k, llen, plen });
    }
    if !plain && !last && !extent.partial && u64::from(llen) < plen {
        return Err(EncodeError::Expanded { extent: k, llen, plen });
    }
    Ok(())
}

fn check_inline(
    k: usize,
    extent: EncodedExtent,
    size: u16,
    (start, params): (u64, &EncodeParams),
) -> Result<(), EncodeError> {
    if size == 0 || u32::from(size) >= params.block_bits.size() {
        return Err(EncodeError::BadInlineSize { size });
    }
    if extent.kind != HeadKind::Plain {
        return Ok(());
    }
    if extent.llen > u32::from(size) {
        let plen = size.into();
        return Err(EncodeError::PlainTooLong { extent: k, llen: extent.llen, plen });
    }
    if params.interlaced && params.block_bits.within(start) != 0 {
        return Err(EncodeError::InlinePlainInterlaced { extent: k });
    }
    Ok(())
}

/// There must be an address for each extent, if there are any.
pub(super) fn check_count(
    extents: &[EncodedExtent],
    addresses: Option<&[Blkaddr]>,
) -> Result<(), EncodeError> {
    match addresses {
        Some(all) if all.len() != extents.len() => {
            Err(EncodeError::AddressCount { expected: extents.len(), found: all.len() })
        }
        _ => Ok(()),
    }
}

pub(super) fn check_compact(
    extents: &[EncodedExtent],
    params: &EncodeParams,
    e_mod_32: u8,
) -> Result<(), EncodeError> {
    let block_bits = params.block_bits.bits();
    if block_bits > 14 {
        return Err(EncodeError::BlockTooLargeForCompact { block_bits });
    }
    if e_mod_32 >= 32 || !e_mod_32.is_multiple_of(8) {
        return Err(EncodeError::UnalignedTable { e_mod_32 });
    }
    if let Some(extent) = extents.iter().position(|extent| extent.partial) {
        return Err(EncodeError::NeedsFull { extent, reason: NeedsFull::Partial });
    }
    match params.tail {
        Tail::Fragment { offset } if offset >> 32 != 0 => {
            let extent = extents.len().saturating_sub(1);
            Err(EncodeError::NeedsFull { extent, reason: NeedsFull::FragmentOffset })
        }
        _ => Ok(()),
    }
}

/// An empty table with space for `size` bytes.
pub(super) fn reserve(size: u64) -> Result<Vec<u8>, EncodeError> {
    let len = usize::try_from(size).ok().filter(|&len| isize::try_from(len).is_ok());
    len.map(Vec::with_capacity).ok_or(EncodeError::TableTooLarge { size })
}
