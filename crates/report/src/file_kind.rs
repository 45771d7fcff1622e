//! Determines the type of a file by its name or its first bytes.

use std::borrow::Cow;

/// First bytes that are read of a file whose name has no extension.
pub(crate) const PROBE: usize = 64;

/// The longest file name extension that is a type.
const EXTENSION: usize = 10;

/// The type of a file by its name: the extension in lower case. Numbers after it, as in names of libraries, are ignored.
pub(crate) fn by_name(name: &[u8]) -> Option<Cow<'static, str>> {
    let mut parts: Vec<&[u8]> = name.split(|byte| *byte == b'.').collect();
    while parts.last().is_some_and(|part| is_number(part)) {
        parts.pop();
    }
    let [first, .., extension] = parts.as_slice() else { return None };
    // A name whose only dot is the first byte is hidden, and has no extension.
    if (first.is_empty() && parts.len() == 2) || extension.is_empty() || extension.len() > EXTENSION
    {
        return None;
    }
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-_".contains(byte);
    let is_type = extension.iter().all(is_plain) && extension.iter().any(u8::is_ascii_alphabetic);
    let lower = || String::from_utf8_lossy(extension).to_ascii_lowercase();
    is_type.then(|| Cow::Owned(format!(".{}", lower())))
}

fn is_number(part: &[u8]) -> bool {
    !part.is_empty() && part.iter().all(u8::is_ascii_digit)
}

/// The type of a file by its first bytes.
pub(crate) fn by_content(start: &[u8]) -> &'static str {
    match start {
        [] => "empty",
        [0x7f, b'E', b'L', b'F', ..] => "ELF",
        [b'#', b'!', ..] => "script",
        [0x1f, 0x8b, ..] | [0xfd, b'7', b'z', b'X', b'Z', ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            "compressed"
        }
        text if text.iter().all(|byte| is_text(*byte)) => "text",
        _ => "data",
    }
}

const fn is_text(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0c | b'\r' | b' '..=b'~' | 0x80..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_types() {
        for (name, expected) in [
            ("a.TXT", Some(".txt")),
            ("libc.so.6", Some(".so")),
            ("libfoo-2.0.so.1.2.3", Some(".so")),
            ("ls.1.gz", Some(".gz")),
            ("a.c++", Some(".c++")),
            (".bashrc", None),
            (".config.old", Some(".old")),
            ("README", None),
            ("python3.13", None),
            ("foo.", None),
            ("1.2.3", None),
            ("x.averyverylongextension", None),
            ("a.b c", None),
            ("a.<b>", None),
            ("a.\u{202e}gnp", None),
        ] {
            assert_eq!(by_name(name.as_bytes()).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn first_bytes_determine_types() {
        for (start, expected) in [
            (&b""[..], "empty"),
            (b"\x7fELF\x02", "ELF"),
            (b"#!/bin/sh\n", "script"),
            (b"\x1f\x8b\x08", "compressed"),
            (b"text\n", "text"),
            ("\u{fc}".as_bytes(), "text"),
            (b"a\0b", "data"),
        ] {
            assert_eq!(by_content(start), expected, "{start:?}");
        }
    }
}
