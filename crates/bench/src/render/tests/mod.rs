//! Tests of all forms: made-up results, and pages in a browser.

mod browser;
pub(super) mod samples;
