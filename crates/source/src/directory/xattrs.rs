//! Reads the extended attributes of files on disk.

use std::os::fd::BorrowedFd;

use lith_tree::Xattr;
use rustix::{
    fs::{fgetxattr, flistxattr, lgetxattr, llistxattr},
    io::{Errno, Result},
};

use crate::{limits, namespace, note::NoteKind};

/// Most files have no attribute and most values are short; the kernel allocates a buffer of the size that it is passed.
const USUAL: usize = 1024;

/// A file whose attributes are read.
#[derive(Clone, Copy)]
pub(super) enum Target<'a> {
    /// An open file.
    Fd(BorrowedFd<'a>),
    /// A path, whose last name is not followed if it is a symbolic link.
    Path(&'a [u8]),
}

impl Target<'_> {
    fn list(self, buffer: &mut [u8]) -> Result<usize> {
        match self {
            Self::Fd(fd) => flistxattr(fd, buffer),
            Self::Path(path) => llistxattr(path, buffer),
        }
    }

    fn get(self, name: &[u8], buffer: &mut [u8]) -> Result<usize> {
        match self {
            Self::Fd(fd) => fgetxattr(fd, name, buffer),
            Self::Path(path) => lgetxattr(path, name, buffer),
        }
    }
}

/// Reads attributes, with the same buffers for all files.
#[derive(Debug, Default)]
pub(super) struct XattrReader {
    names: Vec<u8>,
    value: Vec<u8>,
}

impl XattrReader {
    /// The attributes that the format can store; the names of others go to `note`.
    pub(super) fn read(
        &mut self,
        target: Target<'_>,
        mut note: impl FnMut(NoteKind),
    ) -> Result<Vec<Xattr>> {
        let mut xattrs = Vec::new();
        let names = match with_buffer(&mut self.names, |buffer| target.list(buffer)) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(xattrs),
            names => names?,
        };
        for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            if !namespace::is_kept(name) {
                note(NoteKind::Xattr(name.into()));
                continue;
            }
            match with_buffer(&mut self.value, |buffer| target.get(name, buffer)) {
                // Removed after it was listed.
                Err(Errno::NODATA) => {}
                value => xattrs.push(Xattr { name: name.into(), value: value?.into() }),
            }
        }
        Ok(xattrs)
    }
}

/// Calls with a small buffer and, if that is too small, with one of the largest size.
fn with_buffer(buffer: &mut Vec<u8>, call: impl Fn(&mut [u8]) -> Result<usize>) -> Result<&[u8]> {
    buffer.resize(USUAL, 0);
    let length = match call(buffer) {
        Err(Errno::RANGE) => {
            buffer.resize(limits::XATTR, 0);
            call(buffer)?
        }
        length => length?,
    };
    Ok(buffer.split_at(length).0)
}
