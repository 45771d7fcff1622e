//! Writes JSON, with names that may be invalid UTF-8.

use std::io;

pub(crate) use lith_report::names::{hex, hex_unless_text, text};
use serde::Serialize;

/// Writes a value on one line.
pub(crate) fn write_line(output: &mut dyn io::Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *output, value)?;
    output.write_all(b"\n")
}

/// Writes a value on indented lines.
pub(crate) fn write_pretty(output: &mut dyn io::Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *output, value)?;
    output.write_all(b"\n")
}
