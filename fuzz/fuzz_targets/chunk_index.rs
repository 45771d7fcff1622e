//! See `lith_testkit::fuzz::chunk_index`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lith_testkit::fuzz::chunk_index(bytes));
