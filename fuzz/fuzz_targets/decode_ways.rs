//! See `lith_testkit::fuzz::decode_ways`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lith_testkit::fuzz::decode_ways(bytes));
