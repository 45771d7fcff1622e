//! Defines [`Output`]: where in a file an image is written.

use std::{fs::File, io};

use lith_system::FileAt;
use lith_tree::Content;

/// A file, or a device, that holds an image from some byte on.
#[derive(Clone, Copy, Debug)]
pub struct Output<'a> {
    file: &'a File,
    start: u64,
}

impl<'a> Output<'a> {
    /// The image starts at byte `start`; the bytes before that stay unchanged.
    #[must_use]
    pub const fn new(file: &'a File, start: u64) -> Self {
        Self { file, start }
    }

    pub(crate) fn write_all_at(self, bytes: &[u8], position: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, self.place(position)?)
    }

    /// Copies content within the system, and says whether all of it was copied.
    pub(crate) fn copy(
        self,
        from: &dyn Content,
        (start, len): (u64, u64),
        position: u64,
    ) -> io::Result<bool> {
        Ok(from.copy_to((start, len), (self.file, self.place(position)?)) == len)
    }

    pub(crate) fn read_exact_at(self, bytes: &mut [u8], position: u64) -> io::Result<()> {
        self.file.read_exact_at(bytes, self.place(position)?)
    }

    /// Truncates a regular file to `end`; a device stays as it is.
    pub(crate) fn cut(self, end: u64) -> io::Result<()> {
        let end = self.place(end)?;
        match self.file.metadata()? {
            metadata if metadata.is_file() && metadata.len() > end => self.file.set_len(end),
            _ => Ok(()),
        }
    }

    /// Extends a regular file to `end`; a device stays as it is.
    pub(crate) fn reach(self, end: u64) -> io::Result<()> {
        let end = self.place(end)?;
        match self.file.metadata()? {
            metadata if metadata.is_file() && metadata.len() < end => self.file.set_len(end),
            _ => Ok(()),
        }
    }

    fn place(self, position: u64) -> io::Result<u64> {
        position.checked_add(self.start).ok_or_else(|| io::ErrorKind::FileTooLarge.into())
    }
}

impl<'a> From<&'a File> for Output<'a> {
    fn from(file: &'a File) -> Self {
        Self::new(file, 0)
    }
}
