//! See `lith_testkit::fuzz::archive_file`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lith_testkit::fuzz::archive_file(bytes));
