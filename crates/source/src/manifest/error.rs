//! Defines what can be wrong with a line of a list of files.

use lith_tree::{DisplayPath, NameError, TreeError};

/// What is wrong with a line of a list of files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestProblem {
    /// There is no line.
    #[error("there is no file in the list")]
    Empty,
    /// The first line has none of the known forms.
    #[error("expected the form of `lith dump`, of `composefs-info dump` or of mtree")]
    Unknown,
    /// There are fewer fields than the form has.
    #[error("fields are missing")]
    Missing,
    /// A field is not what the form has in its place.
    #[error("{} is no {what}", DisplayPath(found))]
    Field {
        /// What is expected.
        what: &'static str,
        /// The field.
        found: Vec<u8>,
    },
    /// A path has an impossible name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The file can't be added: it is there twice, for one.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// A hard link leads nowhere, or to another one in a circle.
    #[error("the hard link to {} leads nowhere", DisplayPath(.0))]
    Link(Vec<u8>),
    /// The content of a file has another size.
    #[error("the file has {found} bytes, not {expected}")]
    Size {
        /// Bytes that there are.
        found: u64,
        /// Bytes that the line says.
        expected: u64,
    },
    /// What has the content is no regular file.
    #[error("the content is no regular file")]
    NotRegular,
}

impl ManifestProblem {
    pub(super) fn field(what: &'static str, found: &[u8]) -> Self {
        Self::Field { what, found: found.to_vec() }
    }
}
