//! See `lith_testkit::fuzz::zmap_tables`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lith_testkit::fuzz::zmap_tables(bytes));
