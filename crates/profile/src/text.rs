//! Writes a profile as text, and reads it.
//!
//! ```text
//! lith-profile 1
//! # access path start+bytes order count
//! lookup /usr/bin - 1 1
//! read /usr/bin/python3 0+65536 2 1
//! list /usr/lib - 3 1
//! ```
//!
//! Fields are separated by blanks. In paths each byte that isn't a visible ASCII character, and each backslash, is
//! written `\xNN`. Empty lines, and those that begin with `#`, have no meaning.

use std::{
    fmt::{self, Write as _},
    io::{self, BufRead},
};

use crate::{
    error::{ParseError, ProblemKind},
    profile::{Access, Entry, Profile},
};

pub(crate) const HEADER: &str = "lith-profile 1";
const FIELDS: &str = "five fields: access, path, start+bytes, order and count";

/// The most lines of a profile; there are recordings of a few hundred thousand.
const MOST_LINES: u64 = 1 << 22;
/// The most bytes of a line: Linux has no longer paths than 4096 bytes, each of which takes four characters.
const MOST_LINE: u64 = 4 * 4096 + 256;
/// The most bytes of a path.
const MOST_PATH: usize = 4096;

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}\n# access path start+bytes order count")?;
        for Entry { path, access, order, count } in self.entries() {
            let (name, range) = match access {
                Access::Lookup => ("lookup", None),
                Access::List => ("list", None),
                Access::Read { start, end } => ("read", Some((start, end - start))),
            };
            write!(f, "{name} /")?;
            write_escaped(f, path)?;
            match range {
                None => f.write_str(" -")?,
                Some((start, len)) => write!(f, " {start}+{len}")?,
            }
            writeln!(f, " {order} {count}")?;
        }
        Ok(())
    }
}

fn write_escaped(f: &mut fmt::Formatter<'_>, path: &[u8]) -> fmt::Result {
    for byte in path {
        match byte {
            b'!'..=b'~' if *byte != b'\\' => f.write_char(char::from(*byte))?,
            _ => write!(f, "\\x{byte:02x}")?,
        }
    }
    Ok(())
}

impl Profile {
    /// Reads the text of a profile.
    ///
    /// # Errors
    /// [`io::Error`] if the text can't be read; of kind `InvalidData`, with a [`ParseError`] inside, if it is no profile.
    pub fn read(text: impl BufRead) -> io::Result<Self> {
        let mut entries = Vec::new();
        for_each_line(text, |number, line| {
            if number == 1 {
                return check_header(line);
            }
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                return Ok(());
            }
            entries.push(parse_entry(line)?);
            Ok(())
        })?;
        Ok(Self::new(entries))
    }
}

/// Passes on each line, without its end and with its number from 1 on; there is a first one, empty in an empty text.
pub(crate) fn for_each_line(
    mut text: impl BufRead,
    mut take: impl FnMut(u64, &[u8]) -> Result<(), ProblemKind>,
) -> io::Result<()> {
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        let read = io::Read::take(&mut text, MOST_LINE).read_until(b'\n', &mut bytes)?;
        if read == 0 && line > 1 {
            break;
        }
        let is_cut = read as u64 == MOST_LINE && bytes.last() != Some(&b'\n');
        let taken = if line > MOST_LINES {
            Err(ProblemKind::TooLong(MOST_LINES))
        } else if is_cut {
            Err(ProblemKind::field("line of a usual length", &bytes))
        } else {
            take(line, bytes.strip_suffix(b"\n").unwrap_or(&bytes))
        };
        taken.map_err(|kind| {
            io::Error::new(io::ErrorKind::InvalidData, ParseError { line, kind })
        })?;
    }
    Ok(())
}

fn check_header(line: &[u8]) -> Result<(), ProblemKind> {
    let line = line.trim_ascii_end();
    if line == HEADER.as_bytes() {
        Ok(())
    } else if line.starts_with(b"lith-profile ") {
        Err(ProblemKind::Version)
    } else {
        Err(ProblemKind::NoProfile)
    }
}

fn parse_entry(line: &[u8]) -> Result<Entry, ProblemKind> {
    let mut fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
    let mut next = || fields.next().ok_or(ProblemKind::Fields(FIELDS));
    let (access, path, range, order, count) = (next()?, next()?, next()?, next()?, next()?);
    if fields.next().is_some() {
        return Err(ProblemKind::Fields(FIELDS));
    }
    let access = match (access, range) {
        (b"lookup", b"-") => Access::Lookup,
        (b"list", b"-") => Access::List,
        (b"read", range) => {
            parse_range(range).ok_or_else(|| ProblemKind::field("range of a file", range))?
        }
        (b"lookup" | b"list", range) => return Err(ProblemKind::field("`-`", range)),
        (other, _) => return Err(ProblemKind::field("access: lookup, list or read", other)),
    };
    let number = |what, field| parse_number(field).ok_or_else(|| ProblemKind::field(what, field));
    let (order, count) = (number("order", order)?, number("count", count)?);
    let unescaped = unescape(path).ok_or_else(|| ProblemKind::field("escaped path", path))?;
    Ok(Entry { path: clean_path(&unescaped)?, access, order, count })
}

fn parse_range(field: &[u8]) -> Option<Access> {
    let plus = field.iter().position(|byte| *byte == b'+')?;
    let (start, len) = (field.get(..plus)?, field.get(plus + 1..)?);
    let start = parse_number(start)?;
    Access::read(start..start.checked_add(parse_number(len)?)?)
}

fn parse_number(field: &[u8]) -> Option<u64> {
    let is_number = field.iter().all(u8::is_ascii_digit);
    str::from_utf8(field).ok().filter(|_| is_number)?.parse().ok()
}

fn unescape(field: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let byte = match (first, after) {
            (b'\\', [b'x', high, low, others @ ..]) => {
                rest = others;
                let digit = |digit: &u8| char::from(*digit).to_digit(16);
                u8::try_from(digit(high)? << 4 | digit(low)?).ok()?
            }
            (b'\\', _) => return None,
            _ => *first,
        };
        bytes.push(byte);
    }
    Some(bytes)
}

/// A path without slashes at its ends, doubled ones and names `.`.
pub(crate) fn clean_path(path: &[u8]) -> Result<Vec<u8>, ProblemKind> {
    let names = path.split(|byte| *byte == b'/');
    let names: Vec<_> = names.filter(|name| !matches!(*name, b"" | b".")).collect();
    let is_impossible = |name: &&[u8]| *name == b".." || name.contains(&0) || name.len() > 255;
    let cleaned = names.join(&b'/');
    if names.iter().any(is_impossible) || cleaned.len() > MOST_PATH {
        return Err(ProblemKind::path(path));
    }
    Ok(cleaned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Result<Profile, ParseError> {
        Profile::read(text).map_err(|error| {
            let inner = error.into_inner().unwrap();
            *inner.downcast::<ParseError>().unwrap()
        })
    }

    fn lines(lines: &str) -> Result<Profile, ParseError> {
        read(format!("{HEADER}\n{lines}").as_bytes())
    }

    #[test]
    fn a_profile_is_read_as_it_was_written() {
        let entry =
            |path: &[u8], access, order| Entry { path: path.into(), access, order, count: 3 };
        let profile = Profile::new([
            entry(b"", Access::List, 1),
            entry(b"a/new\nline\\ and blank", Access::Read { start: 5, end: u64::MAX }, 2),
            entry(b"\xff\x7f#", Access::Lookup, u64::MAX),
        ]);
        let text = profile.to_string();
        assert!(
            text.contains(
                "read /a/new\\x0aline\\x5c\\x20and\\x20blank 5+18446744073709551610 2 3\n"
            )
        );
        assert_eq!(read(text.as_bytes()).unwrap(), profile);
    }

    #[test]
    fn blanks_and_comments_have_no_meaning() {
        let found = lines("\n# x\n  read\t//usr/./bin/  0+1   4 1 \r\n\nlist / - 2 1").unwrap();
        let paths: Vec<_> = found.entries().iter().map(|entry| entry.path.as_slice()).collect();
        assert_eq!(paths, [&b""[..], b"usr/bin"]);
        assert_eq!(lines("").unwrap(), Profile::default());
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, found) in [
            ("", "line 1: this is no profile"),
            ("lith-profile 2\n", "line 1: the profile has a version"),
            ("lith-profile 1\n\nread /a 0+1 1", "line 3: expected five fields"),
            ("lith-profile 1\nread /a 0+1 1 1 1", "five fields"),
            ("lith-profile 1\nwrite /a 0+1 1 1", "write is no access"),
            ("lith-profile 1\nlist /a 0+1 1 1", "0+1 is no `-`"),
            ("lith-profile 1\nread /a 0+0 1 1", "0+0 is no range"),
            ("lith-profile 1\nread /a 9+18446744073709551615 1 1", "is no range"),
            ("lith-profile 1\nread /a -1+5 1 1", "is no range"),
            ("lith-profile 1\nread /a 0+1 x 1", "x is no order"),
            ("lith-profile 1\nread /a 0+1 1 99999999999999999999", "is no count"),
            ("lith-profile 1\nread /a\\x0 0+1 1 1", "is no escaped path"),
            ("lith-profile 1\nread /a\\q 0+1 1 1", "is no escaped path"),
            ("lith-profile 1\nread /a/../b 0+1 1 1", "no file can have the path"),
            ("lith-profile 1\nread /a\\x00 0+1 1 1", "no file can have the path"),
        ] {
            let error = read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(found), "{text}: {error}");
        }
        let long = "x".repeat(1 << 20);
        assert!(lines(&long).unwrap_err().to_string().len() < 500);
        assert!(lines(&format!("read /{long} 0+1 1 1")).is_err());
    }

    #[test]
    fn a_million_lines_that_overlap_are_no_burden() {
        let mut text = format!("{HEADER}\n");
        for at in 0..1_000_000_u64 {
            writeln!(text, "read /a {at}+{} {} 1", u64::MAX / 2, 1_000_000 - at).unwrap();
        }
        let profile = read(text.as_bytes()).unwrap();
        assert!(profile.entries().len() <= 2_000_001);
        assert_eq!(profile.entries()[0].order, 1);
    }
}
