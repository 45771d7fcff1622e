//! Writes JSON, with names that may be invalid UTF-8. docs/json.md describes what verbs print.

use std::{borrow::Cow, io};

pub(crate) use lith_report::names::{hex_unless_text, text};
use serde::Serialize;

/// Grows when a field disappears or changes its meaning, not when one is added.
const VERSION: u32 = 1;

/// A result with the version of its form.
#[derive(Serialize)]
struct Versioned<'a, T> {
    version: u32,
    #[serde(flatten)]
    value: &'a T,
}

const fn versioned<T>(value: &T) -> Versioned<'_, T> {
    Versioned { version: VERSION, value }
}

/// Writes a value on one line.
pub(crate) fn write_line(output: &mut dyn io::Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *output, &versioned(value))?;
    output.write_all(b"\n")
}

/// Writes a value on indented lines.
pub(crate) fn write_pretty(output: &mut dyn io::Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *output, &versioned(value))?;
    output.write_all(b"\n")
}

/// A path from the root of an image, with a slash at its start and none at its end: `/` for the root.
pub(crate) fn absolute(path: &[u8]) -> Cow<'_, [u8]> {
    let names: Vec<_> =
        path.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b".")).collect();
    let mut absolute = vec![b'/'];
    absolute.extend(names.join(&b'/'));
    if absolute == path { Cow::Borrowed(path) } else { Cow::Owned(absolute) }
}

/// A path as [`absolute`] makes it, as text, and in hexadecimal digits if it is no text.
pub(crate) fn path(path: &[u8]) -> (Cow<'_, str>, Option<String>) {
    let hex = hex_unless_text(&absolute(path));
    let text = match absolute(path) {
        Cow::Borrowed(path) => text(path),
        Cow::Owned(path) => Cow::Owned(text(&path).into_owned()),
    };
    (text, hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_absolute() {
        for (given, expected) in
            [("", "/"), ("/", "/"), ("a.o", "/a.o"), ("./a//b/", "/a/b"), ("/a/b", "/a/b")]
        {
            assert_eq!(path(given.as_bytes()), (expected.into(), None), "{given}");
        }
        assert_eq!(path(b"\xff"), ("/\u{fffd}".into(), Some("2fff".to_owned())));
    }
}
