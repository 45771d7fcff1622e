//! Formats errors and paths for messages.

use std::{
    borrow::Cow,
    error::Error,
    fmt::{self, Display},
    io::{self, Write},
    path::Path,
};

use anyhow::Context;
use clap::builder::styling::Style;
use lith::{
    export::TarError,
    format::superblock::SuperblockError,
    reader::{self, OpenError},
    tree::DisplayPath,
};

use super::{
    address::shown,
    check_open,
    color::{self, Painted},
    signals::end_if_signalled,
};
use crate::exit::Outcome;

/// Prints a line on standard error. If it can't be written there, nobody is left to be told, and the exit code stays what it
/// is.
pub(crate) fn tell(line: impl Display) {
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Prints help or a version, the parser's answer to who asked for it.
pub(crate) fn answer(message: &clap::Error) -> anyhow::Result<Outcome> {
    let printed = check_open().and_then(|()| message.print()).and_then(|()| io::stdout().flush());
    printed.context("cannot write to standard output")?;
    Ok(Outcome::Success)
}

/// Prints the error of a program's result, if it has one. A reader such as `head` that closes the pipe early got what it
/// wanted, so that is none.
pub(crate) fn conclude(program: &str, result: anyhow::Result<Outcome>) -> anyhow::Result<Outcome> {
    if result.is_err() {
        end_if_signalled();
    }
    match &result {
        Err(error) if is_broken_pipe(error) => return Ok(Outcome::Success),
        Err(error) => print(program, error),
        Ok(_) => {}
    }
    result
}

/// Prints the error of a program on standard error.
pub(crate) fn print(program: &str, error: &anyhow::Error) {
    let style = if color::is_wanted(&io::stderr()) { color::BAD } else { Style::new() };
    let program = Painted { style, text: program };
    tell(format_args!("{program}: {}{}", one_line(error.as_ref()), hint(error)));
}

/// What helps, after an error.
fn hint(error: &anyhow::Error) -> &'static str {
    let causes = error.chain().filter_map(|cause| cause.downcast_ref::<reader::Error>());
    let hints = causes.filter_map(|cause| match cause {
        reader::Error::Corrupt { .. } => Some(" (`lith check` lists all damage)"),
        reader::Error::Open {
            source: OpenError::Superblock(SuperblockError::Checksum { .. }),
            ..
        } => Some(" (ls, cat, extract and others read it with --ignore-checksum)"),
        _ => None,
    });
    hints.last().unwrap_or_default()
}

/// Whether the error is only that the reader of the output has closed it.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        kind == Some(io::ErrorKind::BrokenPipe)
            || matches!(cause.downcast_ref(), Some(TarError::BrokenPipe))
    })
}

/// An error and its causes on one line: `error: cause: deeper cause`.
pub(crate) fn one_line(error: &dyn Error) -> String {
    let mut line = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        next = error.source();
        let text = text(error);
        // The message of some wrappers ends with that of their cause.
        if line.ends_with(&*text) {
            continue;
        }
        if !line.is_empty() {
            line.push_str(": ");
        }
        line.push_str(&text);
    }
    line
}

fn text(cause: &dyn Error) -> String {
    without_number(&cause.to_string())
}

/// A message without the number of an error of the operating system at its end, harmless to a terminal.
pub(crate) fn without_number(text: &str) -> String {
    let text = match text.split_once(" (os error ") {
        Some((before, rest)) if rest.ends_with(')') => before,
        _ => text,
    };
    harmless(text).into_owned()
}

/// Text whose control characters, which a terminal would interpret, are escaped. Backslashes are not: names within the
/// text are escaped already.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let escaped = text.split('\\').map(|part| DisplayPath(part.as_bytes()).to_string());
    let escaped = escaped.collect::<Vec<_>>().join("\\");
    if escaped == text { Cow::Borrowed(text) } else { Cow::Owned(escaped) }
}

/// A path outside of images, with control characters escaped, or an address without its secrets.
pub(crate) struct Place<'a>(pub(crate) &'a Path);

impl Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        DisplayPath(shown(self.0).as_os_str().as_encoded_bytes()).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn an_error_and_its_causes_are_one_line() {
        let denied = io::Error::from_raw_os_error(13);
        let error = Err::<(), _>(denied).context("/x: cannot open").unwrap_err();
        assert_eq!(one_line(error.as_ref()), "/x: cannot open: Permission denied");
        let twice = anyhow::anyhow!("a\nb\\x0a\u{1b}[31m").context("top");
        assert_eq!(one_line(twice.as_ref()), "top: a\\x0ab\\x0a\\x1b[31m");
        let repeated = anyhow::anyhow!("damaged").context("x: damaged");
        assert_eq!(one_line(repeated.as_ref()), "x: damaged");
    }

    #[test]
    fn a_broken_pipe_is_found_however_deep() {
        let broken = io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(is_broken_pipe(&anyhow::Error::new(broken).context("cannot write the text")));
        let full = io::Error::from(io::ErrorKind::StorageFull);
        assert!(!is_broken_pipe(&anyhow::Error::new(full)));
    }

    #[test]
    fn paths_are_escaped() {
        assert_eq!(Place(Path::new("a\nb")).to_string(), "a\\x0ab");
    }
}
