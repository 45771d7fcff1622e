//! Compresses bytes with others as a prefix: what these hold costs little.

use zstd::zstd_safe::{CCtx, CParameter, DCtx, DParameter, compress_bound};

use crate::{DeltaError, limits};

/// The largest tables of an encoder, as a power of two of entries: they reach over content and prefix as they are made here.
const CHAIN_LOG: u32 = 26;
const HASH_LOG: u32 = 22;

/// Compresses `content`, to which `prefix` is known.
pub(crate) fn pack(content: &[u8], prefix: &[u8], level: i32) -> Option<Vec<u8>> {
    let all = (content.len() + prefix.len()).max(1 << 10);
    let log = all.next_power_of_two().ilog2().min(limits::WINDOW_LOG);
    let mut encoder = CCtx::try_create()?;
    let parameters = [
        CParameter::CompressionLevel(level),
        CParameter::WindowLog(log),
        CParameter::ContentSizeFlag(false),
        // What the prefix has is found at every level, however far it is.
        CParameter::EnableLongDistanceMatching(true),
    ];
    let larger = [CParameter::ChainLog(CHAIN_LOG.min(log + 1)), CParameter::HashLog(HASH_LOG)];
    let larger = larger.into_iter().filter(|_| level >= 16 && log >= HASH_LOG);
    for parameter in parameters.into_iter().chain(larger) {
        encoder.set_parameter(parameter).ok()?;
    }
    encoder.ref_prefix(prefix).ok()?;
    let mut packed = Vec::with_capacity(compress_bound(content.len()));
    encoder.compress2(&mut packed, content).ok()?;
    Some(packed)
}

/// The `len` bytes that were compressed.
pub(crate) fn unpack(packed: &[u8], prefix: &[u8], len: usize) -> Result<Vec<u8>, DeltaError> {
    const DAMAGED: DeltaError = DeltaError::Damaged("content can't be decompressed");
    let mut decoder = DCtx::try_create().ok_or(DAMAGED)?;
    let window = DParameter::WindowLogMax(limits::WINDOW_LOG);
    decoder.set_parameter(window).map_err(|_code| DAMAGED)?;
    decoder.ref_prefix(prefix).map_err(|_code| DAMAGED)?;
    let mut content = Vec::with_capacity(len);
    decoder.decompress(&mut content, packed).map_err(|_code| DAMAGED)?;
    if content.len() == len { Ok(content) } else { Err(DAMAGED) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_prefix_holds_costs_little() {
        let bytes: Vec<u8> =
            (0..100_000_u32).map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect();
        let packed = pack(&bytes[..90_000], &bytes, 19).unwrap();
        assert!(packed.len() < 1000, "{}", packed.len());
        assert_eq!(unpack(&packed, &bytes, 90_000).unwrap(), &bytes[..90_000]);
        assert!(unpack(&packed, &bytes, 89_999).is_err());
        assert!(unpack(&packed, &[], 90_000).is_err());
        let empty = pack(&[], &[], 3).unwrap();
        assert!(unpack(&empty, &[], 0).unwrap().is_empty());
    }
}
