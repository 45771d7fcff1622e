//! Tests of the public encoders and decoders.

mod common;
mod decode;
mod fill;
mod lzma;
mod plain_run;
mod ways;
