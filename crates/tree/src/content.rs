//! How are the bytes of a tree's regular files had?

use std::{error::Error, io, path::PathBuf};

use crate::{InodeIndex, Tree};

/// Why a file's bytes can't be had.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// The operating system refused to open or read it.
    #[error("{}: cannot {action}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried: `open`, `read`.
        action: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
    /// It is no longer what it was when the tree was made.
    #[error("{}: changed while it was read: {what}", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// Which attribute differs, as `size 3, was 5`.
        what: String,
    },
    /// It has no such bytes, or they don't decode.
    #[error("{}: damaged", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What the decoder said.
        source: Box<dyn Error + Send + Sync>,
    },
}

/// A stretch of a file from some position on: data, or a hole that reads as zeros.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataRange {
    /// Stored bytes up to this position; zeros may be among them.
    Data {
        /// First position behind the stretch.
        end: u64,
    },
    /// Nothing stored up to this position: all zeros.
    Hole {
        /// First position behind the stretch.
        end: u64,
    },
}

/// A device beside an image, on which bytes of files lie that the image refers to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExtraDevice {
    /// How large it is.
    pub bytes: u64,
    /// What it is known by, at most 64 bytes; empty if nothing is known.
    pub tag: Vec<u8>,
}

/// A stretch of a file that lies on a device beside the image, or nowhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Elsewhere {
    /// Where it begins: the number of the device among [`Contents::devices`], and the byte on it; nothing for a hole.
    pub place: Option<(usize, u64)>,
    /// How many bytes it has.
    pub len: u64,
}

/// The bytes of one regular file, readable at any position.
pub trait Content: Send + Sync {
    /// Fills `buf` with the file's bytes from `position` on; they must lie inside its size.
    ///
    /// # Errors
    /// [`ContentError`] if the bytes can't be had, also when the file has become shorter.
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), ContentError>;

    /// What lies at `position` (below the size), up to where that ends. Always moves forward; the ranges
    /// tile the file.
    ///
    /// # Errors
    /// [`ContentError`] if that can't be told.
    fn range_at(&self, position: u64) -> Result<DataRange, ContentError>;

    /// Says whether all that was read was of one and the same unchanged file.
    ///
    /// # Errors
    /// [`ContentError::Changed`] if it changed since the tree was made.
    fn check_unchanged(&self) -> Result<(), ContentError>;

    /// Where the bytes lie on other devices, if an image shall refer to them there and not hold them. The stretches
    /// tile the file.
    ///
    /// # Errors
    /// [`ContentError`] if that can't be told.
    fn elsewhere(&self) -> Result<Option<Vec<Elsewhere>>, ContentError> {
        Ok(None)
    }
}

/// Gives access to the bytes of a tree's regular files.
pub trait Contents: Send + Sync {
    /// Opens one regular file of `tree`, the tree that these contents belong to.
    ///
    /// # Errors
    /// [`ContentError`] if it can't be opened, is gone, or is not what the tree says.
    fn open(&self, tree: &Tree, inode: InodeIndex) -> Result<Box<dyn Content + '_>, ContentError>;

    /// The devices on which bytes of files lie that an image shall refer to.
    fn devices(&self) -> Vec<ExtraDevice> {
        Vec::new()
    }
}
