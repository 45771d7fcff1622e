//! Defines [`Output`]: where in a file an image is written.

use std::{fs::File, io, ops::Range};

use lith_system::FileAt;
use lith_tree::Content;

use crate::written::Written;

/// Bytes of zeros that are written at once.
const ZEROS: usize = 1 << 20;
/// Bytes that are moved at once.
const MOVED: u64 = 4 << 20;

/// A file, or a device, that holds an image from some byte on.
#[derive(Clone, Copy, Debug)]
pub struct Output<'a> {
    file: &'a File,
    start: u64,
    /// What of it is written, if the bytes between are not zeros.
    written: Option<&'a Written>,
}

impl<'a> Output<'a> {
    /// The image starts at byte `start`; the bytes before that stay unchanged.
    #[must_use]
    pub const fn new(file: &'a File, start: u64) -> Self {
        Self { file, start, written: None }
    }

    /// Takes down what is written, unless what isn't is zeros: in a regular file, as that was empty.
    pub(crate) fn noting<'w>(self, written: &'w Written) -> io::Result<Output<'w>>
    where
        'a: 'w,
    {
        let is_file = self.file.metadata()?.is_file();
        Ok(Output { written: (!is_file).then_some(written), ..self })
    }

    /// Writes zeros wherever nothing was written before `end`.
    pub(crate) fn fill_gaps(self, end: u64) -> io::Result<()> {
        let Some(written) = self.written else { return Ok(()) };
        let zeros = vec![0; ZEROS];
        for Range { mut start, end } in written.gaps(0..end) {
            while start < end {
                let len = zeros.len().min(usize::try_from(end - start).unwrap_or(ZEROS));
                self.write_all_at(zeros.get(..len).unwrap_or_default(), start)?;
                start += len as u64;
            }
        }
        Ok(())
    }

    /// Moves a range so many bytes towards the end, where nothing is. What was there stays where nothing is moved to.
    pub(crate) fn move_towards_end(self, range: Range<u64>, by: u64) -> io::Result<()> {
        // Of a device, bytes that were not written are not those of the image.
        self.fill_gaps(range.end)?;
        let mut bytes = Vec::new();
        let mut end = range.end;
        // From the end, since the range and its new place overlap.
        while end > range.start {
            let start = range.start.max(end.saturating_sub(MOVED));
            bytes.resize(usize::try_from(end - start).unwrap_or_default(), 0);
            self.read_exact_at(&mut bytes, start)?;
            self.write_all_at(&bytes, start + by)?;
            end = start;
        }
        Ok(())
    }

    fn note(self, range: Range<u64>) {
        if let Some(written) = self.written {
            written.add(range);
        }
    }

    pub(crate) fn write_all_at(self, bytes: &[u8], position: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, self.place(position)?)?;
        self.note(position..position + bytes.len() as u64);
        Ok(())
    }

    /// Copies content within the system, and says whether all of it was copied.
    pub(crate) fn copy(
        self,
        from: &dyn Content,
        (start, len): (u64, u64),
        position: u64,
    ) -> io::Result<bool> {
        let copied = from.copy_to((start, len), (self.file, self.place(position)?));
        self.note(position..position + copied);
        Ok(copied == len)
    }

    pub(crate) fn read_exact_at(self, bytes: &mut [u8], position: u64) -> io::Result<()> {
        self.file.read_exact_at(bytes, self.place(position)?)
    }

    /// Truncates a regular file to `end`; a device stays as it is, until its gaps are filled.
    pub(crate) fn cut(self, end: u64) -> io::Result<()> {
        if let Some(written) = self.written {
            written.cut(end);
        }
        let end = self.place(end)?;
        match self.file.metadata()? {
            metadata if metadata.is_file() && metadata.len() > end => self.file.set_len(end),
            _ => Ok(()),
        }
    }

    /// Extends a regular file to `end`; a device stays as it is, until its gaps are filled.
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
