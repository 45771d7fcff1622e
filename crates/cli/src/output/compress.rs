//! Compresses a stream.

use std::io::{self, Write};

use bzip2::write::BzEncoder;
use flate2::write::GzEncoder;
use liblzma::write::XzEncoder;

use crate::args::stream::{Algorithm, Compression};

/// Compresses what is written to it. Must be finished, as the end is missing otherwise.
pub(crate) enum Encoder<'a> {
    Gzip(GzEncoder<&'a mut dyn Write>),
    Xz(XzEncoder<&'a mut dyn Write>),
    Zstd(zstd::Encoder<'a, &'a mut dyn Write>),
    Bzip2(BzEncoder<&'a mut dyn Write>),
}

impl<'a> Encoder<'a> {
    pub(crate) fn new(compression: Compression, output: &'a mut dyn Write) -> io::Result<Self> {
        let Compression { algorithm, level } = compression;
        Ok(match algorithm {
            Algorithm::Gzip => {
                Self::Gzip(GzEncoder::new(output, flate2::Compression::new(level.into())))
            }
            Algorithm::Xz => Self::Xz(XzEncoder::new(output, level.into())),
            Algorithm::Zstd => {
                let mut encoder = zstd::Encoder::new(output, level.into())?;
                encoder.include_checksum(true)?;
                Self::Zstd(encoder)
            }
            Algorithm::Bzip2 => {
                Self::Bzip2(BzEncoder::new(output, bzip2::Compression::new(level.into())))
            }
        })
    }

    /// Writes the end of the stream.
    pub(crate) fn finish(self) -> io::Result<()> {
        let output = match self {
            Self::Gzip(encoder) => encoder.finish(),
            Self::Xz(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
            Self::Bzip2(encoder) => encoder.finish(),
        };
        output?.flush()
    }

    fn inner(&mut self) -> &mut dyn Write {
        match self {
            Self::Gzip(encoder) => encoder,
            Self::Xz(encoder) => encoder,
            Self::Zstd(encoder) => encoder,
            Self::Bzip2(encoder) => encoder,
        }
    }
}

impl Write for Encoder<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner().flush()
    }
}
