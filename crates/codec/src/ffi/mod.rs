//! How are the C libraries called safely? The crate's only unsafe code, one file for each library.
#![expect(unsafe_code, reason = "calls into C; every block proves itself")]

#[allow(dead_code, reason = "not wired into Encoder and decode yet")]
pub(crate) mod deflate;
pub(crate) mod lz4;
#[allow(dead_code, reason = "not wired into Encoder and decode yet")]
pub(crate) mod lzma;
