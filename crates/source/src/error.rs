//! Why does something not become a tree?

use std::{io, path::PathBuf};

use lith_tree::{NameError, TreeError};

use crate::TarError;

/// Why a source could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The operating system refused.
    #[error("{}: cannot {action}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was tried: `open`, `list`, `read its attributes`.
        action: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file was listed but gone when it was looked at.
    #[error("{}: vanished while the directory was read", path.display())]
    Vanished {
        /// The file.
        path: PathBuf,
    },
    /// A file has a name that the format has no place for.
    #[error("{}: has an impossible name", path.display())]
    Name {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: NameError,
    },
    /// A file does not fit into the tree.
    #[error("{}: has no place in the tree", path.display())]
    Tree {
        /// The file.
        path: PathBuf,
        /// Why.
        source: TreeError,
    },
    /// It is neither a directory nor a tar nor an image.
    #[error("{}: is {found}; expected a directory, an EROFS image or a tar (plain, or compressed with gzip, xz, zstd or bzip2)", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// What it looks like.
        found: &'static str,
    },
    /// A compressed stream is damaged or cut short.
    #[error("{}: {format} data damaged or cut short", path.display())]
    Compressed {
        /// The file.
        path: PathBuf,
        /// The name of the compression.
        format: &'static str,
        /// What the decoder said.
        source: io::Error,
    },
    /// A tar is damaged, cut short, or holds what must not be.
    #[error("{}", path.display())]
    Tar {
        /// The tar.
        path: PathBuf,
        /// What is wrong and where.
        source: TarError,
    },
    /// Temporary data could not be written.
    #[error("{}: cannot write temporary data there", dir.display())]
    Spool {
        /// The directory for temporary data.
        dir: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}
