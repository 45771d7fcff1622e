//! What can be wrong with rules for labels?

use std::{io, path::PathBuf};

/// Why a `file_contexts` file can't be used.
#[derive(Debug, thiserror::Error)]
pub enum LabelError {
    /// It can't be read.
    #[error("{}: cannot read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// It is one that `sefcontext_compile` made.
    #[error("{}: is compiled; the text that it was made from is expected", path.display())]
    Compiled {
        /// The file.
        path: PathBuf,
    },
    /// A line is no rule.
    #[error("{}:{line}: no rule for labels", path.display())]
    Rule {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// What is wrong with it.
        source: LabelProblem,
    },
}

/// Why a line is no rule.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LabelProblem {
    /// It has too few fields.
    #[error("an expression, perhaps a kind of file, and a label are expected")]
    Fields,
    /// Its kind of file is none.
    #[error("the kind of file is none of -b -c -d -p -l -s --")]
    Kind,
    /// Its expression ends in a backslash.
    #[error("a backslash ends the expression")]
    TrailingBackslash,
    /// Its expression has a repetition that gives nothing back.
    #[error("possessive repetitions are not supported")]
    Possessive,
    /// Its expression is none, or has what is not supported.
    #[error("the expression can't be used")]
    Regex(#[source] regex::Error),
}
