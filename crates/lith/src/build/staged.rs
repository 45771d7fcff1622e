//! How does a new image take its name without ever leaving half an image there?

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read},
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};

use super::hidden::{Hidden, directory_of, remove_abandoned};

/// A file in the making. Until [`Staged::commit`] it has no name at all, or a hidden one where the
/// filesystem knows no nameless files; whatever stood under the final name stays as it is.
#[derive(Debug)]
pub(crate) struct Staged {
    file: File,
    target: PathBuf,
    form: Form,
}

#[derive(Debug)]
enum Form {
    /// Without a name; the kernel drops it with the last descriptor, even when the process is killed.
    Nameless,
    /// Under a name of its own beside the target.
    Hidden(Hidden),
    /// The target itself: a block device, which can't be replaced.
    InPlace,
}

impl Staged {
    /// Creates a file that will replace `target`.
    pub(crate) fn create(target: &Path) -> io::Result<Self> {
        // A link is followed, so that what it points to is replaced and not the link.
        let target = fs::canonicalize(target).unwrap_or_else(|_new| target.to_owned());
        if let Ok(metadata) = fs::metadata(&target) {
            let kind = metadata.file_type();
            if kind.is_block_device() {
                let file = OpenOptions::new().read(true).write(true).open(&target)?;
                return Ok(Self { file, target, form: Form::InPlace });
            }
            if !kind.is_file() {
                return Err(io::Error::new(
                    io::ErrorKind::AlreadyExists,
                    "exists and is neither a regular file nor a block device",
                ));
            }
        }
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match rustix::fs::open(directory_of(&target), flags, Mode::from_raw_mode(0o666)) {
            Ok(fd) => {
                remove_abandoned(&target);
                Ok(Self { file: fd.into(), target, form: Form::Nameless })
            }
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
                let (file, hidden) = Hidden::create(&target)?;
                Ok(Self { file, target, form: Form::Hidden(hidden) })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The file, open for reading and writing.
    pub(crate) const fn file(&self) -> &File {
        &self.file
    }

    /// Copies the first bytes of the file that it replaces, as far as there are that many.
    pub(crate) fn keep(&self, bytes: u64) -> io::Result<()> {
        if bytes == 0 || matches!(self.form, Form::InPlace) {
            return Ok(());
        }
        let mut file = &self.file;
        match File::open(&self.target) {
            Ok(old) => io::copy(&mut old.take(bytes), &mut file).map(drop),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Does what can fail before the file has its name: a nameless one becomes a hidden one.
    pub(crate) fn prepare(&mut self) -> io::Result<()> {
        if matches!(self.form, Form::Nameless) {
            self.form = Form::Hidden(Hidden::link(&self.file, &self.target)?);
        }
        Ok(())
    }

    /// Gives the file its name; its data must be on disk by now.
    pub(crate) fn commit(mut self) -> io::Result<Placed> {
        self.prepare()?;
        let Form::Hidden(hidden) = self.form else { return Ok(Placed { directory: None }) };
        // Opened before, because afterwards nothing can be undone.
        let directory = File::open(directory_of(&self.target))?;
        hidden.rename(&self.target)?;
        Ok(Placed { directory: Some(directory) })
    }
}

/// A file that has its name, which a crash may still undo.
#[derive(Debug)]
#[must_use = "the name isn't on the disk before `sync`"]
pub(crate) struct Placed {
    directory: Option<File>,
}

impl Placed {
    /// Waits until the name is on the disk.
    pub(crate) fn sync(self) -> io::Result<()> {
        match self.directory.map_or(Ok(()), rustix::fs::fsync) {
            // Some filesystems sync no directories.
            Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            synced => Ok(synced?),
        }
    }
}

/// The folder for temporary data of what becomes of `target`: its own, or for a device, beside which there is no room,
/// that of all temporary data (`TMPDIR`).
#[must_use]
pub fn temporary_directory(target: &Path) -> PathBuf {
    let is_device = fs::metadata(target).is_ok_and(|found| found.file_type().is_block_device());
    if is_device { std::env::temp_dir() } else { directory_of(target).to_owned() }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_old_file_stays_until_commit_and_nothing_else_remains() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("image");
        fs::write(&target, "old").unwrap();
        let mut staged = Staged::create(&target).unwrap();
        staged.file.write_all(b"half").unwrap();
        drop(staged);
        assert_eq!(fs::read(&target).unwrap(), b"old");
        let mut staged = Staged::create(&target).unwrap();
        staged.file.write_all(b"new").unwrap();
        staged.commit().unwrap().sync().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"new");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_beginning_of_what_is_replaced_can_stay() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("image");
        for (old, kept) in [(None, &b""[..]), (Some("ab"), b"ab"), (Some("abcdef"), b"abcd")] {
            old.map_or(Ok(()), |old| fs::write(&target, old)).unwrap();
            let staged = Staged::create(&target).unwrap();
            staged.keep(4).unwrap();
            staged.commit().unwrap().sync().unwrap();
            assert_eq!(fs::read(&target).unwrap(), kept);
            fs::remove_file(&target).unwrap();
        }
    }

    #[test]
    fn a_link_is_followed_and_a_directory_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink("real", &link).unwrap();
        let mut staged = Staged::create(&link).unwrap();
        staged.file.write_all(b"new").unwrap();
        staged.commit().unwrap().sync().unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"new");
        assert!(Staged::create(dir.path()).is_err());
    }
}
