//! See `lith_testkit::fuzz::delta_apply`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lith_testkit::fuzz::delta_apply(bytes));
