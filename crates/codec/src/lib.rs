//! One physical cluster in, or out: compression into blocks of a fixed size.
//!
//! An [`Encoder`] consumes as much input as fits a given output. There are four ways to decode, those of the EROFS
//! paper: [`decode`] returns all bytes ([`decode_up_to`] if their number is not known), [`decode_partial`] the first ones,
//! [`decode_rolling`] those that follow others that are not wanted, and [`decode_in_place`] needs no second buffer. Each
//! thread keeps the state of its decoders from stream to stream, at most 3 MiB. Nothing here knows the EROFS format
//! beyond the names of its algorithms and the zero padding before a stream ([`strip_padding`]).

mod algorithm;
mod compressor;
mod decode;
mod deflate;
mod encode;
mod ffi;
mod fit;
mod guess;
mod in_place;
mod kept;
mod lz4fast;
mod lz4opt;
mod lzma;
mod rolling;
mod skip;
#[cfg(test)]
mod tests;
mod zstd;

pub use algorithm::Algorithm;
pub use compressor::{Compressor, LzmaBits, LzmaEffort, ParseCompressorError};
pub use decode::{DecodeError, decode, decode_partial, decode_up_to, strip_padding};
pub use encode::{CodecError, Encoder};
pub use fit::Fit;
pub use in_place::{decode_in_place, in_place_margin};
pub use rolling::{Window, decode_rolling};
