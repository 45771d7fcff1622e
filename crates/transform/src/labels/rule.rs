//! Parses one line of a `file_contexts` file.

use regex::bytes::{Regex, RegexBuilder};

use super::{error::LabelProblem, pcre};

/// Bytes with a special meaning in an expression.
const SPECIAL: &[u8] = b".^$?*+|[({";

/// A label for the files whose path an expression matches.
#[derive(Debug)]
pub(super) struct Rule {
    /// The longest directory without special characters that every matching path begins with.
    directory: Vec<u8>,
    /// `None`: the expression has no special character and matches only itself.
    expression: Option<Regex>,
    /// The letter of the file type that the rule is for; `None`: any.
    kind: Option<char>,
    /// The label; `None` if matching files get none.
    pub(super) label: Option<Vec<u8>>,
}

impl Rule {
    /// Parses a line. Also returns the path that it is for if it has no special characters.
    pub(super) fn parse(line: &[u8]) -> Result<(Self, Option<Vec<u8>>), LabelProblem> {
        let mut fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
        let (Some(pattern), Some(second)) = (fields.next(), fields.next()) else {
            return Err(LabelProblem::Fields);
        };
        let (kind, label) = match fields.next() {
            Some(label) => (Some(kind(second)?), label),
            None => (None, second),
        };
        let label = (label != b"<<none>>").then(|| label.to_vec());
        let (beginning, is_whole) = literal_beginning(pattern)?;
        if is_whole {
            let rule = Self { directory: Vec::new(), expression: None, kind, label };
            return Ok((rule, Some(beginning)));
        }
        let slash = beginning.iter().rposition(|byte| *byte == b'/');
        let directory = beginning.split_at(slash.unwrap_or(0)).0.to_vec();
        let translated = format!("^{}$", pcre::translate(pattern)?);
        let expression = RegexBuilder::new(&translated)
            .unicode(false)
            .dot_matches_new_line(true)
            .build()
            .map_err(LabelProblem::Regex)?;
        Ok((Self { directory, expression: Some(expression), kind, label }, None))
    }

    /// Whether the rule is for the file at `path` with a type of this letter.
    pub(super) fn matches(&self, path: &[u8], kind: char) -> bool {
        self.kind.is_none_or(|wanted| wanted == kind)
            && path.starts_with(&self.directory)
            && self.expression.as_ref().is_none_or(|expression| expression.is_match(path))
    }
}

fn kind(field: &[u8]) -> Result<char, LabelProblem> {
    match field {
        b"--" => Ok('f'),
        [b'-', kind @ (b'b' | b'c' | b'd' | b'p' | b'l' | b's')] => Ok(char::from(*kind)),
        _ => Err(LabelProblem::Kind),
    }
}

/// The part of a pattern before its first special character, unescaped, and whether that is the whole pattern.
fn literal_beginning(pattern: &[u8]) -> Result<(Vec<u8>, bool), LabelProblem> {
    let mut beginning = Vec::new();
    let mut bytes = pattern.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => {
                let escaped = bytes.next().ok_or(LabelProblem::TrailingBackslash)?;
                if escaped.is_ascii_alphanumeric() {
                    return Ok((beginning, false));
                }
                beginning.push(*escaped);
            }
            byte if SPECIAL.contains(byte) => return Ok((beginning, false)),
            byte => beginning.push(*byte),
        }
    }
    Ok((beginning, true))
}
