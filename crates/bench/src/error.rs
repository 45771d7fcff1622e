//! Defines the error of a command, and the context of others.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
#[error("{command}: {why}{}", indented(.output))]
pub(crate) struct CommandError {
    pub(crate) command: String,
    pub(crate) why: String,
    /// The end of what it printed.
    pub(crate) output: String,
}

/// An error without the command and most of its output.
pub(crate) fn in_short(error: &anyhow::Error) -> String {
    match error.downcast_ref() {
        Some(CommandError { why, output, .. }) => match output.lines().last() {
            Some(line) => format!("{why}: {line}"),
            None => why.clone(),
        },
        None => format!("{error:#}"),
    }
}

/// Adds to an error what was tried, and on what.
pub(crate) fn failed<E: Into<anyhow::Error>>(
    action: &'static str,
    path: impl Into<PathBuf>,
) -> impl FnOnce(E) -> anyhow::Error {
    move |error| error.into().context(format!("cannot {action} {}", path.into().display()))
}

fn indented(output: &str) -> String {
    output.lines().flat_map(|line| ["\n  ", line]).collect()
}
