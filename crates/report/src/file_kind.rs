//! Of what type is a file?

use std::borrow::Cow;

/// Bytes that are looked at of a file whose name says nothing.
pub(crate) const HEAD: usize = 64;

/// The longest ending of a name that is taken for a type.
const ENDING: usize = 10;

/// The type that a file's name says: its ending in small letters. Numbers behind it, as those of libraries, don't count.
pub(crate) fn by_name(name: &[u8]) -> Option<Cow<'static, str>> {
    let mut parts: Vec<&[u8]> = name.split(|byte| *byte == b'.').collect();
    while parts.last().is_some_and(|part| is_number(part)) {
        parts.pop();
    }
    let [first, .., ending] = parts.as_slice() else { return None };
    // What has nothing before its only dot is a hidden name, not an ending.
    if (first.is_empty() && parts.len() == 2) || ending.is_empty() || ending.len() > ENDING {
        return None;
    }
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-_".contains(byte);
    let is_type = ending.iter().all(is_plain) && ending.iter().any(u8::is_ascii_alphabetic);
    let lower = || String::from_utf8_lossy(ending).to_ascii_lowercase();
    is_type.then(|| Cow::Owned(format!(".{}", lower())))
}

fn is_number(part: &[u8]) -> bool {
    !part.is_empty() && part.iter().all(u8::is_ascii_digit)
}

/// The type that a file's first bytes say.
pub(crate) fn by_content(head: &[u8]) -> &'static str {
    match head {
        [] => "empty",
        [0x7f, b'E', b'L', b'F', ..] => "ELF",
        [b'#', b'!', ..] => "script",
        [0x1f, 0x8b, ..] | [0xfd, b'7', b'z', b'X', b'Z', ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            "compressed"
        }
        head if head.iter().all(|byte| is_text(*byte)) => "text",
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
    fn endings_are_types() {
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
            ("x.averyverylongending", None),
            ("a.b c", None),
            ("a.<b>", None),
            ("a.\u{202e}gnp", None),
        ] {
            assert_eq!(by_name(name.as_bytes()).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn first_bytes_tell_types() {
        for (head, expected) in [
            (&b""[..], "empty"),
            (b"\x7fELF\x02", "ELF"),
            (b"#!/bin/sh\n", "script"),
            (b"\x1f\x8b\x08", "compressed"),
            (b"words\n", "text"),
            ("\u{fc}".as_bytes(), "text"),
            (b"a\0b", "data"),
        ] {
            assert_eq!(by_content(head), expected, "{head:?}");
        }
    }
}
