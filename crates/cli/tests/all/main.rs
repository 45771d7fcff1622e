//! Tests the program `lith` by its command line.

mod browser;
mod conformance;
mod documents;
mod end_to_end;
