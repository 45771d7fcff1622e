//! Defines [`ParseError`]: which line of a profile or list is wrong, and why.

use lith_tree::DisplayPath;

/// A line that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {kind}")]
pub struct ParseError {
    /// Its number, from 1 on.
    pub line: u64,
    /// What is wrong.
    pub kind: ProblemKind,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The first line does not say that it is a profile.
    #[error("this is no profile: the first line must be `lith-profile 1`")]
    NoProfile,
    /// It is a profile of a later version.
    #[error("the profile has a version that is unknown here")]
    Version,
    /// There are too few or too many fields.
    #[error("expected {0}")]
    Fields(&'static str),
    /// A field is not what must be in its place.
    #[error("{} is no {what}", DisplayPath(found))]
    Field {
        /// What is expected.
        what: &'static str,
        /// The field, or its beginning.
        found: Vec<u8>,
    },
    /// A path can't exist.
    #[error("no file can have the path {}", DisplayPath(.0))]
    Path(Vec<u8>),
    /// There are more lines than a profile may have.
    #[error("there are more than {0} lines")]
    TooLong(u64),
}

impl ProblemKind {
    /// The most bytes of a field that are shown.
    const SHOWN: usize = 100;

    pub(crate) fn field(what: &'static str, found: &[u8]) -> Self {
        Self::Field { what, found: found.get(..Self::SHOWN).unwrap_or(found).to_vec() }
    }

    pub(crate) fn path(path: &[u8]) -> Self {
        Self::Path(path.get(..Self::SHOWN).unwrap_or(path).to_vec())
    }
}
