//! How do names of any bytes get into JSON?

use std::{borrow::Cow, fmt::Write as _, io};

use serde::Serialize;

/// Bytes as text; bytes that are no UTF-8 become U+FFFD.
pub(crate) fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// The bytes in hexadecimal digits if [`text`] does not tell them all.
pub(crate) fn hex_unless_text(bytes: &[u8]) -> Option<String> {
    str::from_utf8(bytes).err().map(|_not_utf8| hex(bytes))
}

/// The bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut digits, byte| {
        // Writing to a string can't fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_are_told_twice() {
        assert_eq!((text(b"\xc3\xbc"), hex_unless_text(b"\xc3\xbc")), ("ü".into(), None));
        let odd = (text(b"a\xff"), hex_unless_text(b"a\xff"));
        assert_eq!(odd, ("a\u{fffd}".into(), Some("61ff".to_owned())));
    }
}
