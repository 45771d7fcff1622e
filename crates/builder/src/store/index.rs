//! Encodes the index of a file's pclusters in the form that suits them.

use lith_format::addr::Blkaddr;
use lith_format::zmap::{
    EncodeError, EncodeParams, EncodedExtent, Tail, encode_compact, encode_full, encode_records,
};

use crate::IndexForm;

/// The index in the requested form, or in the one that the file needs (pclusters that are not contiguous have
/// `addresses`), for a map header `header` bytes after the start of its inode. In a `wide` image extent records replace
/// compact indexes where they are smaller.
pub(crate) fn encode_index(
    extents: &[EncodedExtent],
    addresses: Option<&[Blkaddr]>,
    params: &EncodeParams,
    header: u64,
    (requested, wide): (IndexForm, bool),
) -> Result<(IndexForm, Vec<u8>), EncodeError> {
    let header_mod_32 = u8::try_from(header % 32).expect("less than 32");
    let records =
        || Ok((IndexForm::Records, encode_records(extents, params, header_mod_32, addresses)?));
    let is_inline = matches!(params.tail, Tail::Inline { .. });
    let blocks: u64 = extents.iter().map(|extent| u64::from(extent.blocks)).sum();
    let highest = addresses.unwrap_or_default().iter().map(|address| address.0).max();
    let is_far = highest.unwrap_or(params.start.0 + blocks) > u32::MAX.into();
    if !is_inline && (requested == IndexForm::Records || is_far) {
        return records();
    }
    // Packs can't hold a position in lclusters of more than 16 KiB, and none the upper half of a fragment's.
    let is_far_fragment =
        matches!(params.tail, Tail::Fragment { offset } if offset > u32::MAX.into());
    let needs_full = params.block_bits.bits() > 14 || is_far_fragment || addresses.is_some();
    let indexes = if needs_full || requested == IndexForm::Full {
        (IndexForm::Full, encode_full(extents, params, addresses)?)
    } else {
        (IndexForm::Compact, encode_compact(extents, params, (header_mod_32 + 8) % 32)?)
    };
    if wide && !is_inline && requested != IndexForm::Full {
        let records = records()?;
        return Ok(if records.1.len() < indexes.1.len() { records } else { indexes });
    }
    Ok(indexes)
}

#[cfg(test)]
mod tests {
    use lith_format::{
        addr::{Blkaddr, BlockBits},
        zmap::HeadKind,
    };

    use super::*;

    fn form(extents: u32, llen: u32, start: u64, tail: Tail, requested: IndexForm) -> IndexForm {
        let extent = EncodedExtent { llen, blocks: 1, kind: HeadKind::Head1, partial: false };
        let extents = vec![extent; extents as usize];
        let size = extents.len() as u64 * u64::from(llen);
        let mut params = EncodeParams::new(BlockBits::DEFAULT, size, Blkaddr(start), 0);
        params.tail = tail;
        let index = encode_index(&extents, None, &params, 64, (requested, true)).unwrap();
        assert!(!index.1.is_empty());
        index.0
    }

    #[test]
    fn long_extents_and_far_addresses_have_records() {
        use IndexForm::{Compact, Full, Records};
        let (inline, far) = (Tail::Inline { size: 9 }, u32::MAX.into());
        assert_eq!(form(10, 8192, 5, Tail::Blocks, Compact), Compact);
        assert_eq!(form(10, 819_200, 5, Tail::Blocks, Compact), Records);
        assert_eq!(form(10, 819_200, 5, inline, Compact), Compact);
        assert_eq!(form(10, 819_200, 5, Tail::Blocks, Full), Full);
        assert_eq!(form(10, 8192, far, Tail::Blocks, Full), Records);
        assert_eq!(form(10, 81920, 5, Tail::Fragment { offset: 1 << 40 }, Compact), Records);
        assert_eq!(form(10, 8192, 5, inline, Records), Compact);
    }
}
