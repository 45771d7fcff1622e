//! One physical cluster in, or out: compression into blocks of a fixed size.
//!
//! An [`Encoder`] consumes as much input as fits a given output; [`decode`] and
//! [`decode_partial`] give the bytes back. Nothing here knows the EROFS format beyond the names of
//! its algorithms and the zero padding in front of a stream ([`strip_padding`]).

mod algorithm;
mod compressor;
mod decode;
mod deflate;
mod encode;
mod ffi;
mod lz4fast;
mod lz4opt;
mod lzma;
#[doc(hidden)]
pub mod trial;
mod zstd;

pub use algorithm::Algorithm;
pub use compressor::{Compressor, LzmaBits, LzmaEffort, ParseCompressorError};
pub use decode::{DecodeError, decode, decode_partial, strip_padding};
pub use encode::{CodecError, Encoder, Fit};
#[doc(hidden)]
pub use zstd::Zstd;
