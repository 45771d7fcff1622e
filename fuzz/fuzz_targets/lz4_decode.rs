//! See `lith_testkit::fuzz::lz4_decode`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lith_testkit::fuzz::lz4_decode(bytes));
