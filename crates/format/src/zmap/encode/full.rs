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
use crate::addr::Blkaddr;

/// Map header, reserved bytes and full indexes of `extents`. Inline data follows them directly.
///
/// Without `addresses` the pclusters are consecutive from `params.start` on; with them, pcluster `k`
/// starts at `addresses[k]`.
///
/// # Errors
///
/// [`EncodeError`] if the extents break a rule of the format.
pub fn encode_full(
    extents: &[EncodedExtent],
    params: &EncodeParams,
    addresses: Option<&[Blkaddr]>,
) -> Result<Vec<u8>, EncodeError> {
    rules::check(extents, params)?;
    rules::check_addresses(extents, params)?;
    let size = params.block_bits.blocks_for(params.size).saturating_mul(8).saturating_add(16);
    let mut out = reserve(size)?;
    let header = params.header(IndexLayout::Full, extents);
    out.extend_from_slice(&MapHeader::Indexes(header).encode(params.block_bits));
    out.extend_from_slice(&[0; 8]);
    let mut writer = FullWriter::new(out, extents, params, addresses)?;
    walk(extents, params, header.advise, &mut writer);
    Ok(writer.finish())
}

/// Where the pclusters of a full table are.
enum Addresses<'a> {
    /// Consecutive; the next starts here.
    Running { next: u32, tail: Option<(usize, u32)> },
    /// Anywhere.
    Given { all: &'a [Blkaddr], tail: Option<(usize, u32)> },
}

fn full_addresses<'a>(
    extents: &[EncodedExtent],
    params: &EncodeParams,
    addresses: Option<&'a [Blkaddr]>,
) -> Result<Addresses<'a>, EncodeError> {
    let last = extents.len().saturating_sub(1);
    let fit = |extent, address: u64| {
        let too_high = |_| EncodeError::AddressTooHigh { extent, address };
        u32::try_from(address).map_err(too_high)
    };
    let tail = match params.tail {
        Tail::Fragment { offset } => Some((last, fit(last, offset >> 32)?)),
        _ => None,
    };
    let Some(all) = addresses else {
        return Ok(Addresses::Running { next: fit(0, params.start.0)?, tail });
    };
    rules::check_count(extents, addresses)?;
    for (k, address) in all.iter().enumerate() {
        fit(k, address.0)?;
    }
    Ok(Addresses::Given { all, tail })
}

impl Addresses<'_> {
    /// The address field of a HEAD; a tail fragment has the high half of its offset there.
    fn take(&mut self, step: &HeadStep) -> u32 {
        let Some(k) = step.extent else { return 0 };
        match self {
            Self::Running { tail: Some((last, word)), .. }
            | Self::Given { tail: Some((last, word)), .. }
                if *last == k =>
            {
                *word
            }
            Self::Running { next, .. } => {
                let address = *next;
                *next = next.wrapping_add(step.blocks.into());
                address
            }
            Self::Given { all, .. } => {
                let address = all.get(k).expect("`full_addresses` compared the numbers").0;
                u32::try_from(address).expect("`full_addresses` compared the sizes")
            }
        }
    }
}

/// Appends 8-byte indexes.
struct FullWriter<'a> {
    out: Vec<u8>,
    addresses: Addresses<'a>,
}

impl<'a> FullWriter<'a> {
    /// Appends to `out`, with pclusters consecutive or at `addresses`.
    fn new(
        out: Vec<u8>,
        extents: &[EncodedExtent],
        params: &EncodeParams,
        addresses: Option<&'a [Blkaddr]>,
    ) -> Result<Self, EncodeError> {
        Ok(Self { out, addresses: full_addresses(extents, params, addresses)? })
    }

    /// The bytes written.
    fn finish(self) -> Vec<u8> {
        self.out
    }

    fn push(&mut self, kind: u16, clusterofs: u16, word: u32) {
        let index = u64::from(word) << 32 | u64::from(clusterofs) << 16 | u64::from(kind);
        self.out.extend_from_slice(&index.to_le_bytes());
    }
}

impl IndexWriter for FullWriter<'_> {
    fn head(&mut self, step: &HeadStep) {
        let address = self.addresses.take(step);
        let partial = if step.partial { PARTIAL_REF } else { 0 };
        self.push(step.kind.raw() | partial, step.clusterofs, address);
    }

    fn nonhead(&mut self, step: &NonHeadStep) {
        let delta0 = step.cblkcnt.map_or(saturated(step.delta0), |blocks| CBLKCNT | blocks);
        // A distance that 16 bits can't hold leads readers to an index from where they go on.
        let delta1 = u16::try_from(step.delta1).unwrap_or(u16::MAX);
        self.push(NONHEAD, step.clusterofs, u32::from(delta1) << 16 | u32::from(delta0));
    }
}
