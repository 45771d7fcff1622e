//! What does the stream in a pcluster hold?

use lith_format::{addr::BlockBits, compression::Algorithm};

use crate::{
    error::{Corruption, Fault},
    map::Extent,
};

/// A compressed extent.
pub(crate) struct Stream<'a> {
    pub(crate) extent: &'a Extent,
    pub(crate) algorithm: Algorithm,
    /// The stream may hold more than the extent.
    pub(crate) partial: bool,
}

impl Stream<'_> {
    /// Decodes the first `out.len()` bytes of the extent from its stored bytes.
    pub(crate) fn decode(
        &self,
        stored: &[u8],
        block: BlockBits,
        out: &mut [u8],
    ) -> Result<(), Fault> {
        let algorithm = codec(self.algorithm);
        let whole = !self.partial && out.len() as u64 == self.extent.len;
        // Streams that fill their place don't begin with a zero either, so nothing is lost of them.
        let padded = usize::try_from(block.size()).unwrap_or(usize::MAX);
        let decoded = lith_codec::strip_padding(stored, padded).and_then(|stream| {
            if whole {
                lith_codec::decode(algorithm, stream, out)
            } else {
                lith_codec::decode_partial(algorithm, stream, out)
            }
        });
        decoded.map_err(|source| Corruption::Decode { la: self.extent.la, source }.into())
    }
}

const fn codec(algorithm: Algorithm) -> lith_codec::Algorithm {
    match algorithm {
        Algorithm::Lz4 => lith_codec::Algorithm::Lz4,
        Algorithm::Lzma => lith_codec::Algorithm::Lzma,
        Algorithm::Deflate => lith_codec::Algorithm::Deflate,
        Algorithm::Zstd => lith_codec::Algorithm::Zstd,
    }
}
