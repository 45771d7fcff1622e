//! Defines why an inode can't be used, or can't be written.

use super::raw::InodeForm;
use crate::{chunk::ChunkError, file_type::FileTypeError};

/// Why an inode can't be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InodeError {
    /// Bytes are missing.
    #[error("{found} bytes are too few for an inode of {needed}")]
    Truncated {
        /// Bytes at hand.
        found: usize,
        /// Bytes the inode takes.
        needed: usize,
    },
    /// `i_format` has bits unknown here.
    #[error("unknown bits in inode format {format:#06x}")]
    UnknownFormat {
        /// The format as found.
        format: u16,
    },
    /// `i_format` names no data layout.
    #[error("no data layout has the number {raw}")]
    Layout {
        /// The number as found.
        raw: u8,
    },
    /// The size is negative.
    #[error("size {size:#x} is negative")]
    Size {
        /// The size as found.
        size: u64,
    },
    /// The mode names no kind of file.
    #[error(transparent)]
    FileType(#[from] FileTypeError),
    /// The chunk format is not usable.
    #[error(transparent)]
    Chunk(#[from] ChunkError),
}

impl InodeError {
    /// Whether the inode may be sound, but uses what is unknown here; else it is damaged.
    #[must_use]
    pub const fn is_unsupported(&self) -> bool {
        match self {
            Self::UnknownFormat { .. } | Self::Layout { .. } => true,
            Self::Chunk(error) => error.is_unsupported(),
            Self::Truncated { .. } | Self::Size { .. } | Self::FileType(_) => false,
        }
    }
}

/// Why an inode can't be written in its form.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InodeEncodeError {
    /// A field's value has no place in this form of inode.
    #[error("{field} {found} has no place in this inode of {size} bytes", size = form.size())]
    Field {
        /// The form.
        form: InodeForm,
        /// The field's name in the format.
        field: &'static str,
        /// Its value, negative ones as two's complement.
        found: u64,
    },
    /// The data fits the layout or the kind of file not at all.
    #[error("mode {mode:#o} with layout {layout} can't have such data")]
    Mismatch {
        /// The whole mode.
        mode: u16,
        /// The layout's number.
        layout: u8,
    },
    /// The mode names no kind of file.
    #[error(transparent)]
    FileType(#[from] FileTypeError),
}
