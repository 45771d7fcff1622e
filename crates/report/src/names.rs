//! Represents names, which may be any bytes, in JSON.

use std::borrow::Cow;

use serde::{Serializer, ser::SerializeMap};

/// Bytes as text; invalid UTF-8 becomes U+FFFD.
#[must_use]
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// The bytes in hexadecimal digits if [`text`] loses some of them.
#[must_use]
pub fn hex_unless_text(bytes: &[u8]) -> Option<String> {
    str::from_utf8(bytes).err().map(|_not_utf8| hex::encode(bytes))
}

/// Serializes the bytes as text under the first key, and, if that loses some of them, in hexadecimal under the second.
pub(crate) fn serialize<S: Serializer>(
    bytes: &[u8],
    [key, hex_key]: [&str; 2],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry(key, &text(bytes))?;
    if let Some(hex) = hex_unless_text(bytes) {
        map.serialize_entry(hex_key, &hex)?;
    }
    map.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_are_given_twice() {
        assert_eq!((text(b"\xc3\xbc"), hex_unless_text(b"\xc3\xbc")), ("ü".into(), None));
        let odd = (text(b"a\xff"), hex_unless_text(b"a\xff"));
        assert_eq!(odd, ("a\u{fffd}".into(), Some("61ff".to_owned())));
    }
}
