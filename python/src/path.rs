//! Finds inodes by paths of Python.

use std::{os::unix::ffi::OsStrExt, path::Path};

use lith::{
    format::file_type::FileType,
    reader::{Error, Image, Inode},
};

/// The bytes of a path.
pub(crate) fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// The inode at a path from the root. Symbolic links within the path are followed; one at its end if `follow` is set.
pub(crate) fn find(image: &Image, path: &Path, follow: bool) -> Result<Inode, Error> {
    let path = bytes(path);
    if follow || path.ends_with(b"/") {
        return image.resolve_following(path);
    }
    let (parent, name) = match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => path.split_at(slash + 1),
        None => (&b""[..], path),
    };
    if matches!(name, b"" | b"." | b"..") {
        return image.resolve_following(path);
    }
    let directory = image.resolve_following(parent)?;
    let entry = image.lookup(&directory, name)?;
    image.inode(entry.ok_or_else(|| Error::NotFound { path: path.to_vec() })?.nid)
}

/// Whether the error is that a path leads to no file.
pub(crate) fn leads_nowhere(error: &Error) -> bool {
    matches!(error.errno(), libc::ENOENT | libc::ENOTDIR | libc::ELOOP)
}

/// Why the content of an inode can't be read as that of a file, as an error number.
pub(crate) fn not_a_file(inode: &Inode) -> Option<(i32, &'static str)> {
    match inode.file_type {
        FileType::Regular => None,
        FileType::Directory => Some((libc::EISDIR, "Is a directory")),
        _ => Some((libc::EINVAL, "Is not a regular file")),
    }
}

/// `length` bytes from `offset` on, or all to the end, as far as a file of `size` bytes has them: start and length.
pub(crate) fn within(size: u64, offset: u64, length: Option<u64>) -> (u64, u64) {
    let start = offset.min(size);
    let left = size - start;
    (start, length.map_or(left, |length| length.min(left)))
}
