//! See `lith_testkit::fuzz::dirent_block`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lith_testkit::fuzz::dirent_block(bytes));
