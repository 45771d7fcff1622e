//! See `lith_testkit::fuzz::container_image`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lith_testkit::fuzz::container_image(bytes));
