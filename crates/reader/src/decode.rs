//! What does the stream in a pcluster hold?

use lith_format::{addr::BlockBits, compression::Algorithm};

use crate::{
    error::{Corruption, Fault},
    map::{Extent, ExtentKind, Place},
    metadata::Space,
};

/// A compressed extent.
pub(crate) struct Stream<'a> {
    pub(crate) extent: &'a Extent,
    pub(crate) algorithm: Algorithm,
    /// The stream may hold more than the extent.
    pub(crate) partial: bool,
}

/// What tells streams apart: extents of one file or several may begin with the same stream.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct StreamKey {
    algorithm: u8,
    place: Stored,
    plen: u64,
}

/// Where a stream is stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Stored {
    Device(u16, u64),
    Metadata(Space, u64),
    Nowhere,
}

impl<'a> Stream<'a> {
    /// The stream of an extent, if it has one.
    pub(crate) const fn of(extent: &'a Extent) -> Option<Self> {
        match extent.kind {
            ExtentKind::Compressed { algorithm, partial } => {
                Some(Self { extent, algorithm, partial })
            }
            _ => None,
        }
    }

    pub(crate) const fn key(&self) -> StreamKey {
        let place = match self.extent.place {
            Place::Device(at) => Stored::Device(at.device, at.pa.0),
            Place::Metadata { space, position } => Stored::Metadata(space, position),
            Place::Nowhere | Place::Packed { .. } => Stored::Nowhere,
        };
        StreamKey { algorithm: self.algorithm as u8, place, plen: self.extent.plen }
    }

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
