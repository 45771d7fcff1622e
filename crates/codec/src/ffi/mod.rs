//! How are the C libraries called safely? The crate's only unsafe code, one module for each library and one for what the
//! processor offers.
#![expect(unsafe_code, reason = "calls into C; every block proves itself")]

pub(crate) mod deflate;
pub(crate) mod lz4;
pub(crate) mod lzma;
pub(crate) mod prefetch;
pub(crate) mod zstd;
