//! Defines a file or block device as a source of bytes.

use std::{
    fs::File,
    io::{self, Seek, SeekFrom},
    path::Path,
};

use crate::{DeviceError, ReadAt};

/// A regular file or block device, read by positioned reads.
#[derive(Debug)]
pub struct FileDevice {
    file: File,
    size: u64,
}

impl FileDevice {
    /// Opens `path` for reading.
    ///
    /// # Errors
    /// The operating system's error when the file can't be opened or measured.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::new(File::open(path)?)
    }

    /// Reads from an open file, whose position stays. Its size is taken now; a block device's is its end.
    ///
    /// # Errors
    /// The operating system's error when the file can't be measured (a pipe, for one). A directory is refused: the end of some
    /// is the largest position that there is.
    pub fn new(mut file: File) -> io::Result<Self> {
        if file.metadata()?.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        // Standard input has one position for all that read it.
        let position = file.stream_position()?;
        let size = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(position))?;
        Ok(Self { file, size })
    }

    /// Copies `len` bytes at `position` to byte `at` of another file within the system, and returns how many it copied. On a
    /// filesystem that shares extents, and from block to block of it, none are written: both files have them.
    #[must_use]
    pub fn copy_to(&self, position: u64, len: u64, (to, at): (&File, u64)) -> u64 {
        let mut done = 0;
        while done < len {
            let (from, into) = (position.saturating_add(done), at.saturating_add(done));
            match lith_system::copy_range(&self.file, from, (to, into), len - done) {
                Ok(copied @ 1..) => done += copied,
                // Not between these files, or not there: the caller reads the bytes, and gets the error then.
                Ok(0) | Err(_) => break,
            }
        }
        done
    }
}

impl ReadAt for FileDevice {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), DeviceError> {
        let length = buf.len() as u64;
        lith_system::read_exact_at(&self.file, buf, position).map_err(|source| {
            match source.kind() {
                io::ErrorKind::UnexpectedEof => {
                    DeviceError::PastEnd { position, length, size: self.size }
                }
                _ => DeviceError::Io { position, length, source },
            }
        })
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn will_need(&self, position: u64, length: u64) {
        lith_system::will_need(&self.file, position, length);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_position_of_a_file_stays() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"abcdef").unwrap();
        file.seek(SeekFrom::Start(2)).unwrap();
        let device = FileDevice::new(file.try_clone().unwrap()).unwrap();
        assert_eq!((device.size(), file.stream_position().unwrap()), (6, 2));
    }

    #[test]
    fn copies_what_there_is() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        let (device, to) = (FileDevice::new(file).unwrap(), tempfile::tempfile().unwrap());
        let copied = device.copy_to(2, 5, (&to, 1));
        // No filesystem must be able to.
        if copied > 0 {
            let mut buf = [7; 6];
            lith_system::read_exact_at(&to, &mut buf, 0).unwrap();
            assert_eq!((copied, &buf), (5, b"\x0023456"));
        }
        assert!(device.copy_to(8, 5, (&to, 0)) <= 2);
        assert_eq!(device.copy_to(20, 5, (&to, 0)), 0);
    }

    #[test]
    #[cfg(unix)]
    fn a_directory_is_no_device() {
        let folder = tempfile::tempdir().unwrap();
        let refused = FileDevice::open(folder.path()).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::IsADirectory);
    }

    #[test]
    fn reads_at_a_position_and_names_the_end() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        let device = FileDevice::new(file).unwrap();
        let mut buf = [0; 4];
        device.read_at(&mut buf, 3).unwrap();
        assert_eq!(&buf, b"3456");
        let past = device.read_at(&mut buf, 8).unwrap_err();
        assert!(matches!(past, DeviceError::PastEnd { position: 8, length: 4, size: 10 }));
    }
}
