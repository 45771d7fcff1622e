//! See `lith_testkit::fuzz::registry_answers`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lith_testkit::fuzz::registry_answers(bytes));
