//! Adapts files to [`std::io::Read`] and [`std::io::Seek`].

use std::{
    io::{self, Read, Seek, SeekFrom},
    sync::Arc,
};

use crate::{error::Error, file::File, image::Image, inode::Inode};

/// Bytes of a step of reading to the end: a corrupt size may be more than there is memory, so it isn't allocated at once.
const STEP: u64 = 4 << 20;

/// What a [`FileHandle`] can read: a [`File`] or an [`OwnedFile`].
pub trait Readable: sealed::Sealed {
    /// Bytes in the file.
    fn size(&self) -> u64;

    /// Fills `buf` with the bytes from `position` on.
    ///
    /// # Errors
    /// As [`File::read_at`].
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), Error>;
}

mod sealed {
    /// Only types of this crate are readable.
    pub trait Sealed {}

    impl Sealed for crate::File<'_> {}
    impl Sealed for super::OwnedFile {}
}

impl Readable for File<'_> {
    fn size(&self) -> u64 {
        self.size()
    }

    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), Error> {
        self.read_at(buf, position)
    }
}

/// A file that keeps its image open, for owners that can't borrow it: threads, tasks, structures. As cheap to open as a
/// [`File`].
#[derive(Clone, Debug)]
pub struct OwnedFile {
    image: Arc<Image>,
    inode: Inode,
}

impl OwnedFile {
    /// The content of an inode of `image`.
    ///
    /// # Errors
    /// As [`Image::file`].
    pub fn open(image: Arc<Image>, inode: Inode) -> Result<Self, Error> {
        image.file(&inode)?;
        Ok(Self { image, inode })
    }

    /// The file's inode.
    #[must_use]
    pub const fn inode(&self) -> &Inode {
        &self.inode
    }

    /// The image that it is in.
    #[must_use]
    pub const fn image(&self) -> &Arc<Image> {
        &self.image
    }

    /// The file as a [`File`], which has all operations.
    ///
    /// # Errors
    /// As [`Image::file`].
    pub fn file(&self) -> Result<File<'_>, Error> {
        self.image.file(&self.inode)
    }

    /// This file with a position of its own.
    #[must_use]
    pub const fn into_handle(self) -> FileHandle<Self> {
        FileHandle { file: self, position: 0 }
    }
}

impl Readable for OwnedFile {
    fn size(&self) -> u64 {
        self.inode.size
    }

    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), Error> {
        self.file()?.read_at(buf, position)
    }
}

impl<'a> File<'a> {
    /// This file with a position of its own.
    #[must_use]
    pub const fn into_handle(self) -> FileHandle<File<'a>> {
        FileHandle { file: self, position: 0 }
    }
}

/// A file with a position, from its beginning on: [`Read`] and [`Seek`].
///
/// A read is short only at the end of the file. Errors are [`io::Error`]s that hold the [`Error`] of the image.
///
/// ```
/// use std::{io::{Read, Seek, SeekFrom}, sync::Arc};
///
/// use lith_reader::{Image, OwnedFile};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/03-lz4.erofs");
/// let image = Arc::new(Image::open_path(path)?);
/// let inode = image.resolve("/text")?;
/// let mut handle = OwnedFile::open(Arc::clone(&image), inode)?.into_handle();
/// let thread = std::thread::spawn(move || {
///     let mut end = Vec::new();
///     handle.seek(SeekFrom::End(-100))?;
///     handle.read_to_end(&mut end)?;
///     std::io::Result::Ok(end)
/// });
/// assert_eq!(thread.join().unwrap()?.len(), 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct FileHandle<F> {
    file: F,
    position: u64,
}

impl<F: Readable> FileHandle<F> {
    /// The file without its position.
    #[must_use]
    pub fn into_file(self) -> F {
        self.file
    }

    /// The file.
    #[must_use]
    pub const fn file(&self) -> &F {
        &self.file
    }

    /// Bytes from the position to the end of the file.
    fn left(&self) -> u64 {
        self.file.size().saturating_sub(self.position)
    }
}

impl<F: Readable> Read for FileHandle<F> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let length = usize::try_from(self.left()).map_or(buf.len(), |left| left.min(buf.len()));
        let (buf, _) = buf.split_at_mut(length);
        if !buf.is_empty() {
            self.file.read_at(buf, self.position).map_err(io_error)?;
            self.position += length as u64;
        }
        Ok(length)
    }

    fn read_to_end(&mut self, buf: &mut Vec<u8>) -> io::Result<usize> {
        let begin = buf.len();
        loop {
            let (start, step) = (buf.len(), self.left().min(STEP));
            let Ok(step @ 1..) = usize::try_from(step) else { return Ok(start - begin) };
            buf.try_reserve(step).map_err(|_full| io::ErrorKind::OutOfMemory)?;
            buf.resize(start + step, 0);
            let read = self.read(buf.get_mut(start..).expect("resized beyond `start`"));
            buf.truncate(start + *read.as_ref().unwrap_or(&0));
            read?;
        }
    }

    fn read_to_string(&mut self, buf: &mut String) -> io::Result<usize> {
        let mut bytes = Vec::new();
        let length = self.read_to_end(&mut bytes)?;
        let text = String::from_utf8(bytes);
        buf.push_str(&text.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?);
        Ok(length)
    }
}

impl<F: Readable> Seek for FileHandle<F> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(distance) => self.file.size().checked_add_signed(distance),
            SeekFrom::Current(distance) => self.position.checked_add_signed(distance),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

fn io_error(error: Error) -> io::Error {
    let kind = match error {
        Error::Corrupt { .. } => io::ErrorKind::InvalidData,
        Error::Unsupported { .. } => io::ErrorKind::Unsupported,
        Error::BeyondEnd { .. } => io::ErrorKind::UnexpectedEof,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}
