//! See `lith_testkit::fuzz::reader_open_walk`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lith_testkit::fuzz::reader_open_walk(bytes));
