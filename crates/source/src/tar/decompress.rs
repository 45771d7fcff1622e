//! Decompresses a tar.

use std::io::{self, BufReader, Read};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use liblzma::{
    bufread::XzDecoder,
    stream::{CONCATENATED, Stream},
};

use crate::{detect::Compression, limits};

/// Bytes read at once.
const BUFFER: usize = 128 << 10;

/// Decodes one stream, or several consecutive ones.
pub(crate) fn decoder<'a>(
    compression: Compression,
    reader: impl Read + 'a,
) -> io::Result<Box<dyn Read + 'a>> {
    let reader = BufReader::with_capacity(BUFFER, reader);
    Ok(match compression {
        Compression::Gzip => Box::new(MultiGzDecoder::new(reader)),
        Compression::Bzip2 => Box::new(MultiBzDecoder::new(reader)),
        Compression::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(reader)?),
        Compression::Xz => {
            let stream = Stream::new_stream_decoder(limits::XZ_MEMORY, CONCATENATED)?;
            Box::new(XzDecoder::new_stream(reader, stream))
        }
    })
}
