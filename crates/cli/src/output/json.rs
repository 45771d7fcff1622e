//! How do values and names of any bytes become JSON?

use std::io;

pub(crate) use lith_report::names::{hex, hex_unless_text, text};
use serde::Serialize;

/// Writes a value in one line.
pub(crate) fn write_line(output: &mut dyn io::Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *output, value)?;
    output.write_all(b"\n")
}

/// Writes a value in many lines.
pub(crate) fn write_pretty(output: &mut dyn io::Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *output, value)?;
    output.write_all(b"\n")
}
