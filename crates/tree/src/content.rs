//! Defines [`Contents`] and [`Content`], by which the bytes of a tree's regular files are read.

use std::{
    error::Error,
    fs::File,
    io,
    path::{Path, PathBuf},
};

use crate::{InodeIndex, Tree};

/// Why a file's bytes can't be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContentError {
    /// The operating system can't open or read it.
    #[error("{}: cannot {action}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried: `open`, `read`.
        action: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// It has changed since the tree was made.
    #[error("{}: changed while it was read: {what}", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// Which attribute differs, as `size 3, was 5`.
        what: String,
    },
    /// Its bytes are missing or can't be decoded.
    #[error("{}: damaged", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The error of the decoder.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl ContentError {
    /// What is wrong, with all causes and without the path.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::Io { action, source, .. } => format!("cannot {action}: {source}"),
            Self::Changed { what, .. } => format!("changed while it was read: {what}"),
            Self::Damaged { source, .. } => {
                let mut text = format!("damaged: {source}");
                let mut next = source.source();
                while let Some(cause) = next {
                    text = format!("{text}: {cause}");
                    next = cause.source();
                }
                text
            }
        }
    }

    /// Whether the file is the cause. It isn't where the process has no descriptors or memory left.
    #[must_use]
    pub fn is_of_file(&self) -> bool {
        !matches!(self, Self::Io { source, .. } if lith_system::is_of_resources(source))
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Io { path, .. } | Self::Changed { path, .. } | Self::Damaged { path, .. } => path,
        }
    }
}

/// A stretch of a file: data, or a hole that reads as zeros. Its start is the position that was requested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataRange {
    /// Stored bytes up to this position; zeros may be among them.
    Data {
        /// The first position after the stretch.
        end: u64,
    },
    /// Nothing stored up to this position: all zeros.
    Hole {
        /// The first position after the stretch.
        end: u64,
    },
}

/// A device beside an image that stores bytes of files to which the image refers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExtraDevice {
    /// Its size in bytes.
    pub bytes: u64,
    /// Its tag in the device table, at most 64 bytes; empty if it has none.
    pub tag: Vec<u8>,
}

/// A stretch of a file that is stored on a device beside the image, or a hole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Elsewhere {
    /// Where it is stored: the index in [`Contents::devices`], and the byte on that device; `None` for a hole.
    pub place: Option<(usize, u64)>,
    /// Its length in bytes.
    pub len: u64,
}

/// The bytes of one regular file, readable at any position.
pub trait Content: Send + Sync {
    /// Fills `buf` with the file's bytes from `position` on; all of them must be within its size.
    ///
    /// # Errors
    /// [`ContentError`] if the bytes can't be read, also when the file has become shorter.
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), ContentError>;

    /// Whether there is data or a hole at `position`, which must be less than the size, and where that ends. The ranges tile
    /// the file.
    ///
    /// # Errors
    /// [`ContentError`] if that can't be determined.
    fn range_at(&self, position: u64) -> Result<DataRange, ContentError>;

    /// Checks that the file has not changed since the tree was made, so that all bytes read are of one state of it.
    ///
    /// # Errors
    /// [`ContentError::Changed`] if it changed since the tree was made.
    fn check_unchanged(&self) -> Result<(), ContentError>;

    /// Where the bytes are stored on other devices, if an image is to refer to them there in place of storing them. The
    /// stretches tile the file. `None`: the image stores them.
    ///
    /// # Errors
    /// [`ContentError`] if that can't be determined.
    fn elsewhere(&self) -> Result<Option<Vec<Elsewhere>>, ContentError> {
        Ok(None)
    }

    /// Copies bytes, given by position and length, to a byte of a file within the system, where both are in files of one that
    /// can do that. Returns how many it copied, from the first one on; the others are to be read.
    fn copy_to(&self, _range: (u64, u64), _to: (&File, u64)) -> u64 {
        0
    }
}

/// Gives access to the bytes of a tree's regular files.
pub trait Contents: Send + Sync {
    /// Opens one regular file of `tree`, the tree that these contents belong to.
    ///
    /// # Errors
    /// [`ContentError`] if it can't be opened, has been removed, or differs from the tree.
    fn open(&self, tree: &Tree, inode: InodeIndex) -> Result<Box<dyn Content + '_>, ContentError>;

    /// Groups of `files`, by their indices, that are best read one after another, each by one thread, if all are read.
    /// `None`: any order is as good.
    fn reading_order(&self, _files: &[InodeIndex]) -> Option<Vec<Vec<usize>>> {
        None
    }

    /// The same contents without their tree; `None`: they need it.
    fn by_number(&self) -> Option<&dyn ByNumber> {
        None
    }

    /// The image that holds a file, of those that were merged to the tree, from 0, the lowest, on, and the file's NID there.
    /// `None`: no image holds it.
    fn stored_in(&self, _inode: InodeIndex) -> Option<(usize, u64)> {
        None
    }

    /// The devices that store bytes to which an image is to refer.
    fn devices(&self) -> Vec<ExtraDevice> {
        Vec::new()
    }
}

/// Contents that take nothing of their tree but the paths that errors have, so that it need not be kept for them.
pub trait ByNumber: Send + Sync {
    /// Opens the regular file that has a number in the tree; `path` is its path there.
    ///
    /// # Errors
    /// As [`Contents::open`].
    fn open_number(
        &self,
        inode: InodeIndex,
        path: &[u8],
    ) -> Result<Box<dyn Content + '_>, ContentError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn too_many_open_files_are_no_fault_of_a_file() {
        // Of Linux: EACCES, EIO, ENOENT; ENOMEM, ENFILE, EMFILE.
        for (number, is_of_file) in
            [(13, true), (5, true), (2, true), (12, false), (23, false), (24, false)]
        {
            let source = io::Error::from_raw_os_error(number);
            let error = ContentError::Io { path: PathBuf::new(), action: "open", source };
            assert_eq!(error.is_of_file(), is_of_file, "{number}");
        }
    }
}
