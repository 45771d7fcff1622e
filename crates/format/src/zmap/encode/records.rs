//! Writes tables of extent records.

use alloc::vec::Vec;

use super::{
    super::{
        extent::ExtentRecord,
        header::{Advise, MapHeader, RecordSize, RecordsHeader, RecordsShape},
        index::HeadKind,
        locate::extent_records_offset,
    },
    params::{EncodeParams, EncodedExtent, Tail},
    rules::{self, EncodeError, reserve},
};
use crate::{
    addr::{Blkaddr, La, Pa},
    halves::lo32,
};

/// Map header and extent records of `extents`, for a header at `header_mod_32` (0, 8, 16 or 24) bytes beyond a
/// multiple of 32. Pclusters are located as in [`encode_full`](super::encode_full).
///
/// Only images with 48-bit addresses have records; but those have no limit of 32 bits, and take space for each
/// extent, not for each lcluster.
///
/// # Errors
/// [`EncodeError`] if the extents break a rule of the format, or the tail is inline.
pub fn encode_records(
    extents: &[EncodedExtent],
    params: &EncodeParams,
    header_mod_32: u8,
    addresses: Option<&[Blkaddr]>,
) -> Result<Vec<u8>, EncodeError> {
    rules::check(extents, params)?;
    rules::check_count(extents, addresses)?;
    if let Tail::Inline { .. } = params.tail {
        return Err(EncodeError::InlineBesideRecords);
    }
    let size = match u32::try_from(params.size) {
        Ok(_) => RecordSize::Sixteen,
        Err(_) => RecordSize::ThirtyTwo,
    };
    let bytes = (extents.len() as u64).saturating_mul(size.bytes().into());
    let mut out = reserve(bytes.saturating_add(32))?;
    out.extend_from_slice(&header(extents, params, size).encode(params.block_bits));
    let header_at = u64::from(header_mod_32);
    let start = extent_records_offset(header_at, size).map_or(8, |start| start - header_at);
    out.resize(usize::try_from(start).unwrap_or(8), 0);
    let (mut la, mut block) = (0_u64, params.start.0);
    for (k, extent) in extents.iter().enumerate() {
        let is_last = k + 1 == extents.len();
        block = addresses.and_then(|all| all.get(k)).map_or(block, |address| address.0);
        record(*extent, params, (la, block), is_last).encode(size, &mut out);
        la += u64::from(extent.llen);
        block = block.saturating_add(extent.blocks.into());
    }
    Ok(out)
}

fn header(extents: &[EncodedExtent], params: &EncodeParams, size: RecordSize) -> MapHeader {
    let mut advise = Advise::EXTENTS | Advise::from_bits_retain(size.code() << 1);
    advise.set(Advise::INTERLACED, params.interlaced);
    advise.set(Advise::FRAGMENT, matches!(params.tail, Tail::Fragment { .. }));
    let shape = RecordsShape::Variable { count: extents.len() as u64 };
    MapHeader::Records(RecordsHeader { advise, record_size: size, shape })
}

fn record(
    extent: EncodedExtent,
    params: &EncodeParams,
    (la, block): (u64, u64),
    is_last: bool,
) -> ExtentRecord {
    if let (Tail::Fragment { offset }, true) = (params.tail, is_last) {
        return ExtentRecord { plen_word: lo32(offset), pstart: offset >> 32, lstart: la };
    }
    let algorithm = match extent.kind {
        HeadKind::Plain => None,
        HeadKind::Head1 => Some(params.head1),
        HeadKind::Head2 => Some(params.head2),
    };
    let bits = params.block_bits.bits();
    let plen = u32::from(extent.blocks) << bits;
    let record = ExtentRecord::new(La(la), Pa(block << bits), plen, algorithm);
    if extent.partial { record.with_partial() } else { record }
}
