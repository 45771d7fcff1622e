//! What does a person read when something fails?

use std::{borrow::Cow, error::Error, fmt, io, path::Path};

use lith::{export::TarError, tree::DisplayPath};

/// Tells an error of a program on standard error, in one line, with all its causes.
pub(crate) fn tell(program: &str, error: &anyhow::Error) {
    eprintln!("{program}: {}", line(error));
}

/// Whether all that happened is that nobody reads the output any more.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        kind == Some(io::ErrorKind::BrokenPipe)
            || matches!(cause.downcast_ref(), Some(TarError::BrokenPipe))
    })
}

/// An error and its causes: `cause: deeper cause`.
fn line(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain() {
        let text = one_line(cause);
        // A wrapper may have said already what its cause says.
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

fn one_line(cause: &(dyn Error + 'static)) -> String {
    let text = cause.to_string();
    let text = match text.split_once(" (os error ") {
        Some((before, rest)) if rest.ends_with(')') => before,
        _ => &text,
    };
    harmless(text).into_owned()
}

/// Text without characters that a terminal might obey. Backslashes stay single: names in it are escaped already.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let escaped = text.split('\\').map(|part| DisplayPath(part.as_bytes()).to_string());
    let escaped = escaped.collect::<Vec<_>>().join("\\");
    if escaped == text { Cow::Borrowed(text) } else { Cow::Owned(escaped) }
}

/// A path of the machine, for a message.
pub(crate) struct Place<'a>(pub(crate) &'a Path);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        DisplayPath(self.0.as_os_str().as_encoded_bytes()).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn causes_follow_each_other_in_one_line() {
        let denied = io::Error::from_raw_os_error(13);
        let error = Err::<(), _>(denied).context("/x: cannot open").unwrap_err();
        assert_eq!(line(&error), "/x: cannot open: Permission denied");
        let twice = anyhow::anyhow!("a\nb\\x0a\u{1b}[31m").context("top");
        assert_eq!(line(&twice), "top: a\\x0ab\\x0a\\x1b[31m");
        let repeated = anyhow::anyhow!("damaged").context("x: damaged");
        assert_eq!(line(&repeated), "x: damaged");
    }

    #[test]
    fn a_broken_pipe_is_found_however_deep() {
        let broken = io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(is_broken_pipe(&anyhow::Error::new(broken).context("cannot write the text")));
        let full = io::Error::from(io::ErrorKind::StorageFull);
        assert!(!is_broken_pipe(&anyhow::Error::new(full)));
    }

    #[test]
    fn places_are_escaped() {
        assert_eq!(Place(Path::new("a\nb")).to_string(), "a\\x0ab");
    }
}
