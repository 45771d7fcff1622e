//! Tests of the public encoders and decoders.

mod common;
mod decode;
mod deflate;
mod fill;
mod lzma;
mod plain_run;
mod ways;
