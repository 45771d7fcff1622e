//! How does a list of files become a tree? Defines [`manifest`], which reads attributes from a text and content from a
//! directory.
//!
//! The text has one of three forms, which is detected: that of [`lith_tree::dump()`], that of `composefs-info dump`, and that
//! of mtree(5). With all of them a tree with owners and devices is made without any right to them.

mod canonical;
mod composefs;
mod contents;
mod entry;
mod error;
mod escape;
mod mtree;
mod place;

use std::{fs, io::Read, path::Path};

use self::entry::Described;
pub use self::error::ManifestProblem;
use crate::{Options, Source, SourceError, error::cannot};

/// Reads the list at `path`; `-` is standard input. The content of files is in `folder`, by the paths of the files or those that the list names.
///
/// # Errors
/// [`SourceError::Manifest`] names the line that can't be read or whose file has another size than it says; other errors the
/// file whose content can't be read.
pub fn manifest(path: &Path, folder: &Path, options: &Options) -> Result<Source, SourceError> {
    let text = if path == Path::new("-") {
        let mut text = Vec::new();
        lith_system::standard_input().and_then(|mut file| file.read_to_end(&mut text)).map(|_| text)
    } else {
        fs::read(path)
    };
    let text = text.map_err(cannot("read", path))?;
    let wrong =
        |(line, problem)| SourceError::Manifest { path: path.to_owned(), line, source: problem };
    let described = parse(&text).map_err(wrong)?;
    place::place(described, folder, options).map_err(|error| match error {
        place::PlaceError::Line(line, problem) => wrong((line, problem)),
        place::PlaceError::Source(error) => error,
    })
}

/// The files that a text describes, each with the number of its line, from 1.
fn parse(text: &[u8]) -> Result<Vec<(usize, Described)>, (usize, ManifestProblem)> {
    if text.starts_with(b"#mtree") {
        return mtree::parse(text);
    }
    let is_entry = |line: &[u8]| !line.trim_ascii().is_empty() && !line.starts_with(b"#");
    let lines = || (1..).zip(text.split(|byte| *byte == b'\n')).filter(|(_, line)| is_entry(line));
    let Some((number, first)) = lines().next() else { return Err((1, ManifestProblem::Empty)) };
    let parse_line = match Form::of(first).ok_or((number, ManifestProblem::Unknown))? {
        Form::Mtree => return mtree::parse(text),
        Form::Canonical => canonical::parse,
        Form::Composefs => composefs::parse,
    };
    let described = lines().map(|(number, line)| match parse_line(line) {
        Ok(described) => Ok((number, described)),
        Err(problem) => Err((number, problem)),
    });
    described.collect()
}

/// The form of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Canonical,
    Composefs,
    Mtree,
}

impl Form {
    /// Detects the form by the first line that is no comment.
    fn of(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
        let (first, second) = (fields.next()?, fields.next().unwrap_or_default());
        if first == b"/set" || second.contains(&b'=') {
            return Some(Self::Mtree);
        }
        match second {
            _ if !first.starts_with(b"/") => None,
            [b'f' | b'd' | b'l' | b'c' | b'b' | b'p' | b's'] => Some(Self::Canonical),
            size if size.iter().all(u8::is_ascii_digit) => Some(Self::Composefs),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
