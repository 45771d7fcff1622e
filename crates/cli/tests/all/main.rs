//! Tests of the program `lith`, seen from outside.

mod browser;
mod conformance;
mod end_to_end;
