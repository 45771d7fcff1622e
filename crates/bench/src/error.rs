//! Defines the errors of measuring.

use std::{io, path::PathBuf};

/// Why something could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused something.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A command failed.
    #[error("{command}: {why}{}", indented(.output))]
    Command {
        /// The command and its arguments.
        command: String,
        /// How it ended.
        why: String,
        /// The end of what it printed.
        output: String,
    },
    /// Nothing has the requested name.
    #[error("no {kind} is called {name:?}; there are {known}")]
    Unknown {
        /// What is named: a suite, a table.
        kind: &'static str,
        /// The name.
        name: String,
        /// Names there are.
        known: String,
    },
    /// The caller set `stop`.
    #[error("interrupted")]
    Interrupted,
    /// There is nothing to measure on.
    #[error("{0}")]
    NoCorpus(String),
}

impl Error {
    /// The error without the command and most of its output.
    pub(crate) fn in_short(&self) -> String {
        match self {
            Self::Command { why, output, .. } => match output.lines().last() {
                Some(line) => format!("{why}: {line}"),
                None => why.clone(),
            },
            Self::Io { source, .. } => format!("{self}: {source}"),
            _ => self.to_string(),
        }
    }

    /// The error of a command whose program is nowhere.
    pub(crate) fn no_program(command: &str) -> Self {
        let why = "there is no such program".into();
        Self::Command { command: command.into(), why, output: String::new() }
    }
}

/// Makes an [`Error::Io`] of what went wrong.
pub(crate) fn failed(
    action: &'static str,
    path: impl Into<PathBuf>,
) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Io { action, path: path.into(), source }
}

fn indented(output: &str) -> String {
    output.lines().flat_map(|line| ["\n  ", line]).collect()
}
