//! Defines an output file that replaces an existing one only when it is complete.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    process,
};

use super::directory_of;

/// A file that is written in the directory of its final path, then renamed.
#[derive(Debug)]
pub(crate) struct Target {
    writer: BufWriter<File>,
    /// The temporary path; `None`: it is renamed already, or written directly.
    hidden: Option<PathBuf>,
    path: PathBuf,
}

impl Target {
    /// Creates a file for `path`. An existing pipe or device at `path` is written directly.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let path = fs::canonicalize(path).unwrap_or_else(|_new| path.to_owned());
        let is_special = fs::metadata(&path).is_ok_and(|metadata| !metadata.is_file());
        let (file, hidden) = if is_special {
            (File::options().write(true).open(&path)?, None)
        } else {
            let hidden = hidden_name(&path);
            (File::create_new(&hidden)?, Some(hidden))
        };
        Ok(Self { writer: BufWriter::with_capacity(64 << 10, file), hidden, path })
    }

    /// Renames the complete file to its path.
    pub(crate) fn commit(mut self) -> io::Result<()> {
        self.writer.flush()?;
        if let Some(hidden) = &self.hidden {
            fs::rename(hidden, &self.path)?;
            self.hidden = None;
        }
        Ok(())
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

impl Drop for Target {
    fn drop(&mut self) {
        if let Some(hidden) = &self.hidden {
            // The caller reports why the file is incomplete; that its removal failed, too, adds little.
            let _ = fs::remove_file(hidden);
        }
    }
}

fn hidden_name(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    // Truncated, so that prefix and suffix don't exceed the longest name that filesystems allow.
    let full = path.file_name().unwrap_or_default().to_string_lossy();
    name.push(full.chars().take(50).collect::<String>());
    name.push(format!(".{}.lith-tmp", process::id()));
    directory_of(path).join(name)
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
    fn a_device_is_written_directly() {
        let mut target = Target::create(Path::new("/dev/null")).unwrap();
        target.write_all(b"gone").unwrap();
        target.commit().unwrap();
    }
}
