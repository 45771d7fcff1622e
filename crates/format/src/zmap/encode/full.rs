//! Writes full tables.

use alloc::vec::Vec;

use super::{
    super::{
        full::PARTIAL_REF,
        header::{IndexLayout, MapHeader},
        index::{CBLKCNT, NONHEAD},
    },
    params::{EncodeParams, EncodedExtent, Tail},
    rules::{self, EncodeError, reserve},
    walk::{HeadStep, IndexWriter, NonHeadStep, saturated, walk},
};
use crate::{addr::Blkaddr, halves::lo32};

/// Map header, reserved bytes and full indexes of `extents`. Inline data follows them directly.
///
/// Without `addresses` the pclusters are consecutive from `params.start` on; with them, pcluster `k`
/// starts at `addresses[k]`.
///
/// # Errors
/// [`EncodeError`] if the extents break a rule of the format.
pub fn encode_full(
    extents: &[EncodedExtent],
    params: &EncodeParams,
    addresses: Option<&[Blkaddr]>,
) -> Result<Vec<u8>, EncodeError> {
    rules::check(extents, params)?;
    rules::check_addresses(extents, params)?;
    rules::check_count(extents, addresses)?;
    let size = params.block_bits.blocks_for(params.size).saturating_mul(8).saturating_add(16);
    let mut out = reserve(size)?;
    let header = params.header(IndexLayout::Full, extents);
    out.extend_from_slice(&MapHeader::Indexes(header).encode(params.block_bits));
    out.extend_from_slice(&[0; 8]);
    let mut writer = FullWriter { out, addresses: addresses_of(extents, params, addresses)? };
    walk(extents, params, header.advise, &mut writer);
    Ok(writer.out)
}

/// The address field of each extent's HEAD; a tail fragment has the high half of its offset there.
fn addresses_of(
    extents: &[EncodedExtent],
    params: &EncodeParams,
    given: Option<&[Blkaddr]>,
) -> Result<Vec<u32>, EncodeError> {
    let mut next = params.start;
    let mut words = Vec::with_capacity(extents.len());
    for (extent, EncodedExtent { blocks, .. }) in extents.iter().enumerate() {
        let is_last = extent + 1 == extents.len();
        let address = match (params.tail, given.and_then(|all| all.get(extent))) {
            (Tail::Fragment { offset }, _) if is_last => offset >> 32,
            (_, Some(address)) => address.0,
            // Nothing is at the address of an inline tail, which may be 2^32.
            (_, None) => lo32(next.0).into(),
        };
        let too_high = |_| EncodeError::AddressTooHigh { extent, address };
        words.push(u32::try_from(address).map_err(too_high)?);
        next.0 += u64::from(*blocks);
    }
    Ok(words)
}

/// Appends 8-byte indexes.
struct FullWriter {
    out: Vec<u8>,
    /// By extent.
    addresses: Vec<u32>,
}

impl FullWriter {
    fn push(&mut self, kind: u16, clusterofs: u16, word: u32) {
        let index = u64::from(word) << 32 | u64::from(clusterofs) << 16 | u64::from(kind);
        self.out.extend_from_slice(&index.to_le_bytes());
    }
}

impl IndexWriter for FullWriter {
    fn head(&mut self, step: &HeadStep) {
        // The end marker has none.
        let address = step.extent.and_then(|extent| self.addresses.get(extent)).copied();
        let partial = if step.partial { PARTIAL_REF } else { 0 };
        self.push(step.kind.raw() | partial, step.clusterofs, address.unwrap_or(0));
    }

    fn nonhead(&mut self, step: &NonHeadStep) {
        let delta0 = step.cblkcnt.map_or(saturated(step.delta0), |blocks| CBLKCNT | blocks);
        // A distance that 16 bits can't hold leads readers to an index from where they go on.
        let delta1 = u16::try_from(step.delta1).unwrap_or(u16::MAX);
        self.push(NONHEAD, step.clusterofs, u32::from(delta1) << 16 | u32::from(delta0));
    }
}
