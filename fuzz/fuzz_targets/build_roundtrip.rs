//! See `lith_testkit::fuzz::build_roundtrip`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lith_testkit::fuzz::build_roundtrip(bytes));
