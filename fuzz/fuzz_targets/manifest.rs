//! See `lith_testkit::fuzz::manifest`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lith_testkit::fuzz::manifest(bytes));
