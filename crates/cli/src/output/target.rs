//! Defines an output file that replaces an existing one only when it is complete.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use lith::Hidden;

use super::signals::remove_files_on_signals;

/// A file that is written in the directory of its final path, then renamed. It has the owner and mode of the one it replaces.
#[derive(Debug)]
pub(crate) struct Target {
    writer: BufWriter<File>,
    /// The temporary name; `None`: it is written directly.
    hidden: Option<Hidden>,
    path: PathBuf,
}

impl Target {
    /// Creates a file for `path`, which signals that end the program remove. An existing pipe or device at `path` is written
    /// directly.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        remove_files_on_signals();
        Self::create_unwatched(path)
    }

    /// The same for a program that signals don't end.
    pub(crate) fn create_unwatched(path: &Path) -> io::Result<Self> {
        let path = fs::canonicalize(path).unwrap_or_else(|_new| path.to_owned());
        let old = fs::metadata(&path).ok();
        let (file, hidden) = if old.as_ref().is_some_and(|old| !old.is_file()) {
            (File::options().write(true).open(&path)?, None)
        } else {
            let (file, hidden) = Hidden::create(&path)?;
            (file, Some(hidden))
        };
        if let Some(old) = old.filter(|_| hidden.is_some()) {
            lith_system::keep_owner_and_mode(&file, &old)?;
        }
        Ok(Self { writer: BufWriter::with_capacity(64 << 10, file), hidden, path })
    }

    /// Renames the complete file to its path.
    pub(crate) fn commit(mut self) -> io::Result<()> {
        self.writer.flush()?;
        self.hidden.map_or(Ok(()), |hidden| hidden.rename(&self.path))
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_file_stays_until_the_new_one_is_complete() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "old").unwrap();
        let mut target = Target::create(&path).unwrap();
        target.write_all(b"half").unwrap();
        drop(target);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        let mut target = Target::create(&path).unwrap();
        target.write_all(b"new").unwrap();
        target.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    #[cfg(unix)]
    fn what_is_private_stays_private() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        Target::create(&path).unwrap().commit().unwrap();
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!((metadata.len(), metadata.permissions().mode() & 0o7777), (0, 0o600));
    }

    #[test]
    fn a_device_is_written_directly() {
        let mut target = Target::create(Path::new("/dev/null")).unwrap();
        target.write_all(b"gone").unwrap();
        target.commit().unwrap();
    }
}
