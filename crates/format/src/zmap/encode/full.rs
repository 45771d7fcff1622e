//! How are indexes written to a full table?

use alloc::vec::Vec;

use super::super::full::PARTIAL_REF;
use super::super::index::{CBLKCNT, NONHEAD};
use super::{
    EncodeError, EncodeParams, EncodedExtent, HeadStep, IndexWriter, NonHeadStep, Tail, rules,
    saturated,
};
use crate::addr::Blkaddr;

/// Where the pclusters of a full table lie.
enum Addresses<'a> {
    /// One after another; the next begins here.
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
    /// The address word of a HEAD; a tail fragment has the high half of its offset there.
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
                all.get(k).and_then(|a| u32::try_from(a.0).ok()).unwrap_or(u32::MAX)
            }
        }
    }
}

/// Appends 8-byte indexes.
pub(super) struct FullWriter<'a> {
    out: Vec<u8>,
    addresses: Addresses<'a>,
}

impl<'a> FullWriter<'a> {
    /// Appends to `out`, with pclusters one after another or at `addresses`.
    pub(super) fn new(
        out: Vec<u8>,
        extents: &[EncodedExtent],
        params: &EncodeParams,
        addresses: Option<&'a [Blkaddr]>,
    ) -> Result<Self, EncodeError> {
        Ok(Self { out, addresses: full_addresses(extents, params, addresses)? })
    }

    /// The bytes written.
    pub(super) fn finish(self) -> Vec<u8> {
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
        let delta1 = u16::try_from(step.delta1).unwrap_or(u16::MAX);
        self.push(NONHEAD, step.clusterofs, u32::from(delta1) << 16 | u32::from(delta0));
    }
}
