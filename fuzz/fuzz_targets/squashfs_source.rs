//! See `lith_testkit::fuzz::squashfs_source`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lith_testkit::fuzz::squashfs_source(bytes));
