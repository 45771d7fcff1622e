//! Defines why a source can't be read as a tree.

use std::{
    io,
    path::{Path, PathBuf},
};

use lith_tree::{NameError, TreeError};

use crate::{CpioError, ManifestProblem, OciError, SquashFsError, TarError, ZipError};

/// Why a source can't be read as a tree.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The operating system refused an operation.
    #[error("{}: cannot {action}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was tried: `open`, `list`, `read its attributes`.
        action: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// More than one file can't be read.
    #[error("{} files can't be read", .0.len())]
    Several(Vec<Self>),
    /// A file was listed but removed before its attributes were read.
    #[error("{}: vanished while the directory was read", .0.display())]
    Vanished(PathBuf),
    /// A file has a name that the format can't store.
    #[error("{}: has an impossible name", path.display())]
    Name {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: NameError,
    },
    /// A file can't be added to the tree.
    #[error("{}: cannot be added to the tree", path.display())]
    Tree {
        /// The file.
        path: PathBuf,
        /// Why.
        source: TreeError,
    },
    /// The data of a file is in a layer below it that is not there.
    #[error("{}: its data is in a layer below that is not there (overlayfs: metacopy)", .0.display())]
    NoData(PathBuf),
    /// A line of a list of files can't be used.
    #[error("{}:{line}", path.display())]
    Manifest {
        /// The list.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// What is wrong.
        source: ManifestProblem,
    },
    /// It is neither a directory nor an archive nor an image.
    #[error("{}: is {found}; expected a directory, an EROFS image, a SquashFS image, a tar or a cpio archive (newc; plain, or compressed with gzip, xz, zstd or bzip2), or a zip archive", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// Its detected type.
        found: &'static str,
    },
    /// A compressed stream is corrupt or truncated.
    #[error("{}: {format} data corrupt or truncated", path.display())]
    Compressed {
        /// The file.
        path: PathBuf,
        /// The name of the compression.
        format: &'static str,
        /// The error of the decoder.
        source: io::Error,
    },
    /// A tar is corrupt, truncated, or has a member that can't be part of a tree.
    #[error("{}", path.display())]
    Tar {
        /// The tar.
        path: PathBuf,
        /// What is wrong and where.
        source: TarError,
    },
    /// A cpio archive is corrupt, truncated, or has a member that can't be part of a tree.
    #[error("{}", path.display())]
    Cpio {
        /// The archive.
        path: PathBuf,
        /// What is wrong and where.
        source: CpioError,
    },
    /// A zip archive is damaged, or has a member that can't be part of a tree.
    #[error("{}", path.display())]
    Zip {
        /// The archive.
        path: PathBuf,
        /// What is wrong.
        source: ZipError,
    },
    /// A SquashFS image is damaged, or a file in it can't be part of a tree.
    #[error("{}", path.display())]
    SquashFs {
        /// The image.
        path: PathBuf,
        /// What is wrong and where.
        source: SquashFsError,
    },
    /// A container image is not as it should be.
    #[error("{}", path.display())]
    Oci {
        /// The layout or archive.
        path: PathBuf,
        /// What is wrong.
        source: OciError,
    },
    /// Temporary data could not be written.
    #[error("{}: cannot write temporary data there", dir.display())]
    Spool {
        /// The directory for temporary data.
        dir: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl SourceError {
    /// The path of the file concerned; for [`Self::Tar`], [`Self::Cpio`], [`Self::Zip`] and [`Self::SquashFs`] that of the archive or image, for [`Self::Several`] the first one.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Io { path, .. }
            | Self::Vanished(path)
            | Self::NoData(path)
            | Self::Name { path, .. }
            | Self::Tree { path, .. }
            | Self::Unknown { path, .. }
            | Self::Compressed { path, .. }
            | Self::Tar { path, .. }
            | Self::Cpio { path, .. }
            | Self::Zip { path, .. }
            | Self::SquashFs { path, .. }
            | Self::Oci { path, .. }
            | Self::Manifest { path, .. }
            | Self::Spool { dir: path, .. } => path,
            Self::Several(errors) => errors.first().map_or(Path::new(""), Self::path),
        }
    }

    /// One error for all, which are at least one: itself, or the list of them.
    pub(crate) fn of_several(mut errors: Vec<Self>) -> Option<Self> {
        errors.sort_by(|a, b| a.path().cmp(b.path()));
        match errors.len() {
            0 | 1 => errors.pop(),
            _ => Some(Self::Several(errors)),
        }
    }

    /// Whether it is about one file, which can be left out.
    pub(crate) fn is_of_file(&self) -> bool {
        !matches!(self, Self::Io { source, .. } if lith_system::is_of_resources(source))
    }

    /// What is wrong, without the path.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Io { action, source, .. } => format!("cannot {action}: {source}"),
            Self::Vanished(_) => "vanished while the directory was read".to_owned(),
            Self::Name { source, .. } => source.to_string(),
            other => other.to_string(),
        }
    }
}

/// Makes the error for an action on a path that the operating system refused.
pub(crate) fn cannot(
    action: &'static str,
    path: &Path,
) -> impl FnOnce(io::Error) -> SourceError + use<> {
    let path = path.to_owned();
    move |source| SourceError::Io { path, action, source }
}
