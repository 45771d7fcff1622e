//! One physical cluster in, or out: compression into blocks of a fixed size.
//!
//! An [`Encoder`] consumes as much input as fits a given output. [`decode`] gives all bytes back,
//! [`decode_partial`] the first ones, [`decode_rolling`] those behind others that nobody wants, and
//! [`decode_in_place`] does without a second buffer. Each thread keeps the state of its decoders from stream
//! to stream, at most 3 MiB. Nothing here knows the EROFS format beyond the names of
//! its algorithms and the zero padding in front of a stream ([`strip_padding`]).

mod algorithm;
mod compressor;
mod decode;
mod deflate;
mod encode;
mod ffi;
mod in_place;
mod kept;
mod lz4fast;
mod lz4opt;
mod lzma;
mod rolling;
#[doc(hidden)]
pub mod trial;
mod zstd;

pub use algorithm::Algorithm;
pub use compressor::{Compressor, LzmaBits, LzmaEffort, ParseCompressorError};
pub use decode::{DecodeError, decode, decode_partial, strip_padding};
pub use encode::{CodecError, Encoder, Fit};
pub use in_place::{decode_in_place, in_place_margin};
pub use rolling::{Window, decode_rolling};
#[doc(hidden)]
pub use zstd::Zstd;
