//! Defines the types of files.

/// The kind of a file, as the top bits of `i_mode` or a dirent's `file_type` encode it.
#[derive(zerocopy::TryFromBytes, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum FileType {
    /// A regular file.
    Regular = 1,
    /// A directory.
    Directory = 2,
    /// A character device.
    CharDevice = 3,
    /// A block device.
    BlockDevice = 4,
    /// A named pipe.
    Fifo = 5,
    /// A Unix socket.
    Socket = 6,
    /// A symbolic link.
    Symlink = 7,
}

/// The bits of a mode that hold the file type (`S_IFMT`).
pub const MODE_TYPE_MASK: u16 = 0o170_000;

/// A file type that no kind of file has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileTypeError {
    /// The type bits of an `i_mode` name no kind of file.
    #[error("mode {mode:#o} names no kind of file")]
    Mode {
        /// The whole mode.
        mode: u16,
    },
    /// A dirent's `file_type` names no kind of file; 0 means that the kind is unknown.
    #[error("dirent file type {raw} names no kind of file")]
    Dirent {
        /// The byte as found.
        raw: u8,
    },
}

impl FileType {
    /// The kind encoded in `st_mode`.
    ///
    /// # Errors
    /// The type bits name no kind of file.
    pub const fn from_mode(mode: u16) -> Result<Self, FileTypeError> {
        Ok(match mode & MODE_TYPE_MASK {
            0o100_000 => Self::Regular,
            0o040_000 => Self::Directory,
            0o020_000 => Self::CharDevice,
            0o060_000 => Self::BlockDevice,
            0o010_000 => Self::Fifo,
            0o140_000 => Self::Socket,
            0o120_000 => Self::Symlink,
            _ => return Err(FileTypeError::Mode { mode }),
        })
    }

    /// The type bits of `st_mode` for this kind.
    #[must_use]
    pub const fn mode_bits(self) -> u16 {
        match self {
            Self::Regular => 0o100_000,
            Self::Directory => 0o040_000,
            Self::CharDevice => 0o020_000,
            Self::BlockDevice => 0o060_000,
            Self::Fifo => 0o010_000,
            Self::Socket => 0o140_000,
            Self::Symlink => 0o120_000,
        }
    }

    /// The kind as `stat` names it, such as `regular file`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Regular => "regular file",
            Self::Directory => "directory",
            Self::Symlink => "symbolic link",
            Self::CharDevice => "character device",
            Self::BlockDevice => "block device",
            Self::Fifo => "fifo",
            Self::Socket => "socket",
        }
    }

    /// The kind as one word, for machine-readable output.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Regular => "file",
            Self::Directory => "directory",
            Self::Symlink => "symlink",
            Self::CharDevice => "char",
            Self::BlockDevice => "block",
            Self::Fifo => "fifo",
            Self::Socket => "socket",
        }
    }

    /// The value of a dirent's `file_type` for this kind.
    #[must_use]
    pub const fn dirent_type(self) -> u8 {
        self as u8
    }

    /// Whether inodes of this kind have content: regular files, directories and symlinks.
    #[must_use]
    pub const fn has_content(self) -> bool {
        matches!(self, Self::Regular | Self::Directory | Self::Symlink)
    }

    /// Whether inodes of this kind have a device number.
    #[must_use]
    pub const fn is_device(self) -> bool {
        matches!(self, Self::CharDevice | Self::BlockDevice)
    }
}

impl TryFrom<u8> for FileType {
    type Error = FileTypeError;

    /// Reads a dirent's `file_type`.
    fn try_from(raw: u8) -> Result<Self, FileTypeError> {
        zerocopy::try_transmute!(raw).map_err(|_unknown| FileTypeError::Dirent { raw })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_and_dirent_types_tell_the_same_kinds() {
        for raw in 1..=7 {
            let kind = FileType::try_from(raw).unwrap();
            assert_eq!(kind.dirent_type(), raw);
            assert_eq!(FileType::from_mode(kind.mode_bits() | 0o7777), Ok(kind));
        }
    }

    #[test]
    fn unknown_types_are_kept_in_the_error() {
        assert_eq!(FileType::try_from(0), Err(FileTypeError::Dirent { raw: 0 }));
        assert_eq!(FileType::try_from(8), Err(FileTypeError::Dirent { raw: 8 }));
        assert_eq!(FileType::from_mode(0o755), Err(FileTypeError::Mode { mode: 0o755 }));
    }
}
