//! Decodes the stream in a pcluster.

use lith_codec::Window;
use lith_format::{addr::BlockBits, compression::Algorithm};

use crate::{
    error::{Corruption, Fault},
    extent::{Extent, ExtentKind, Place},
    memory,
    piece::Space,
};

/// The compressed stream of an extent.
pub(crate) struct Stream<'a> {
    pub(crate) extent: &'a Extent,
    pub(crate) algorithm: Algorithm,
    /// The stream may hold more than the extent.
    pub(crate) partial: bool,
}

/// The identity of a stream: extents of one file or several may start with the same stream.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct StreamKey {
    algorithm: u8,
    place: Stored,
    plen: u64,
}

/// Where a stream is stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
enum Stored {
    Device(u16, u64),
    Metadata(Space, u64),
    #[default]
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
        let decoded = strip(stored, block).and_then(|stream| {
            if whole {
                lith_codec::decode(algorithm, stream, out)
            } else {
                lith_codec::decode_partial(algorithm, stream, out)
            }
        });
        decoded.map_err(|source| self.corrupt(source))
    }

    /// Decodes the `out.len()` bytes of the extent after the first `skip`, which pass through `window`.
    pub(crate) fn decode_rolling(
        &self,
        stored: &[u8],
        block: BlockBits,
        skip: u64,
        (out, window): (&mut [u8], &mut Window),
    ) -> Result<(), Fault> {
        let skip = memory::length(skip);
        let decoded = strip(stored, block).and_then(|stream| {
            lith_codec::decode_rolling(codec(self.algorithm), stream, skip, out, window)
        });
        decoded.map_err(|source| self.corrupt(source))
    }

    /// The length of a buffer in which the whole extent can be decoded over its stored bytes. `None`: it can't be.
    pub(crate) fn in_place_length(&self) -> Option<usize> {
        if self.partial {
            return None;
        }
        let (len, plen) = (usize::try_from(self.extent.len), usize::try_from(self.extent.plen));
        let (len, plen) = (len.ok()?, plen.ok()?);
        let margin = lith_codec::in_place_margin(codec(self.algorithm), plen, len)?;
        Some(len.checked_add(margin)?.max(plen))
    }

    /// Decodes the whole extent in a buffer, at whose end its stored bytes are, to the buffer's beginning.
    pub(crate) fn decode_in_place(&self, buf: &mut [u8], block: BlockBits) -> Result<(), Fault> {
        let (end, plen) = (buf.len(), memory::length(self.extent.plen));
        let stored = end.checked_sub(plen).and_then(|start| buf.get(start..));
        let stored = stored.expect("the buffer has `in_place_length` bytes, at least `plen`");
        let start = strip(stored, block).map(|stream| end - stream.len());
        let length = memory::length(self.extent.len);
        let decoded = start.and_then(|start| {
            lith_codec::decode_in_place(codec(self.algorithm), buf, start..end, length)
        });
        decoded.map_err(|source| self.corrupt(source))
    }

    fn corrupt(&self, source: lith_codec::DecodeError) -> Fault {
        Corruption::Decode { la: self.extent.la, source }.into()
    }
}

/// The stream without its 0padding. A stream without padding doesn't start with a zero, so it is unchanged.
fn strip(stored: &[u8], block: BlockBits) -> Result<&[u8], lith_codec::DecodeError> {
    lith_codec::strip_padding(stored, memory::length(block.size().into()))
}

const fn codec(algorithm: Algorithm) -> lith_codec::Algorithm {
    match algorithm {
        Algorithm::Lz4 => lith_codec::Algorithm::Lz4,
        Algorithm::Lzma => lith_codec::Algorithm::Lzma,
        Algorithm::Deflate => lith_codec::Algorithm::Deflate,
        Algorithm::Zstd => lith_codec::Algorithm::Zstd,
    }
}
