//! Writes single bytes in the syntax of the crate `regex`.

use std::fmt::Write;

/// Appends an expression that matches one byte.
pub(crate) fn push_byte(out: &mut String, byte: u8) {
    if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'_') {
        out.push(char::from(byte));
    } else {
        // Writing to a string can't fail.
        let _ = write!(out, "\\x{byte:02x}");
    }
}
