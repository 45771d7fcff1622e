//! See `lith_testkit::fuzz::verity_device`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lith_testkit::fuzz::verity_device(bytes));
