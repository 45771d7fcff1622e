//! Defines the errors of a `file_contexts` file.

use std::{
    io,
    path::{Path, PathBuf},
};

/// Why a `file_contexts` file can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabelError {
    /// It can't be read.
    #[error("{}: cannot read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// It is in the binary form that `sefcontext_compile` writes.
    #[error("{}: is compiled; the text that it was compiled from is expected", .0.display())]
    Compiled(PathBuf),
    /// A line is not a rule.
    #[error("{}:{line}: not a rule for labels", path.display())]
    Rule {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// What is wrong with it.
        source: LabelProblem,
    },
}

impl LabelError {
    /// The path of the `file_contexts` file.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Read { path, .. } | Self::Compiled(path) | Self::Rule { path, .. } => path,
        }
    }
}

/// Why a line is not a rule.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LabelProblem {
    /// It has too few fields.
    #[error("expected an expression, optionally a file type, and a label")]
    Fields,
    /// Its file type is unknown.
    #[error("the file type is none of -b -c -d -p -l -s --")]
    Kind,
    /// Its expression ends in a backslash.
    #[error("a backslash ends the expression")]
    TrailingBackslash,
    /// Its expression has a repetition without backtracking, as `a++`.
    #[error("possessive repetitions are not supported")]
    Possessive,
    /// Its expression is invalid or uses a feature that is not supported.
    #[error("the expression can't be used")]
    Regex(#[source] regex::Error),
}
