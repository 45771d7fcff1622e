//! Defines the two forms of inodes, compact and extended.

use super::raw::{RawCompact, RawExtended};

/// The bit of `i_format` that marks extended inodes.
pub(super) const EXTENDED: u16 = 1;

/// How large an inode is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum InodeForm {
    /// 32 bytes, with narrower fields.
    Compact,
    /// 64 bytes.
    Extended,
}

impl InodeForm {
    /// Bytes in the inode itself.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::Compact => size_of::<RawCompact>(),
            Self::Extended => size_of::<RawExtended>(),
        }
    }

    /// The form of the inode that begins with `bytes`, of which two are needed.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let low = bytes.first()?;
        Some(if u16::from(*low) & EXTENDED == 0 { Self::Compact } else { Self::Extended })
    }
}
