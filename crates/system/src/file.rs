//! Defines what all systems know of files.

/// What a system knows of a file at one time. Where it doesn't know something, that is the same for all files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Status {
    /// Whether it is a regular file.
    pub is_file: bool,
    /// Its bytes.
    pub size: u64,
    /// Its device and its number there.
    pub id: Option<(u64, u64)>,
    /// When its content was modified: seconds since 1970, and nanoseconds.
    pub mtime: (i64, u32),
    /// When anything of it was changed.
    pub ctime: (i64, u32),
    /// Bytes on disk.
    pub allocated: u64,
    /// Its names.
    pub links: u64,
    /// Its type and permissions, as `st_mode`.
    pub mode: Option<u32>,
    /// User and group.
    pub owner: Option<(u32, u32)>,
}

/// How a file is locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lock {
    /// With others.
    Shared,
    /// For one alone, and only if that is possible at once.
    AtOnce,
    /// No longer.
    Nothing,
}
