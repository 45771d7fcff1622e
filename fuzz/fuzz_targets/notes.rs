//! See `lith_testkit::fuzz::notes`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lith_testkit::fuzz::notes(bytes));
