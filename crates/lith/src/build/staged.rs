//! How does a new image take its name without ever leaving half an image there?

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek},
    path::{Path, PathBuf},
};

use lith_system::is_block_device;

use super::hidden::{Hidden, check_name, directory_of, remove_abandoned};

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
    /// The target itself: a block device, which can't be replaced, or a temporary file.
    InPlace,
}

impl Staged {
    /// Creates a file that will replace `target`, with the owner and mode of a file that is there.
    pub(crate) fn create(target: &Path) -> io::Result<Self> {
        // A link is followed, so that what it points to is replaced and not the link.
        let target = fs::canonicalize(target).unwrap_or_else(|_new| target.to_owned());
        let Ok(old) = fs::metadata(&target) else { return Self::beside(target) };
        let kind = old.file_type();
        if is_block_device(kind) {
            let file = OpenOptions::new().read(true).write(true).open(&target)?;
            return Ok(Self::in_place(file));
        }
        if !kind.is_file() {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "exists and is neither a regular file nor a block device",
            ));
        }
        let staged = Self::beside(target)?;
        lith_system::keep_owner_and_mode(&staged.file, &old)?;
        Ok(staged)
    }

    /// A file that is its own final form.
    pub(crate) fn in_place(file: File) -> Self {
        Self { file, target: PathBuf::new(), form: Form::InPlace }
    }

    /// Creates a file in the directory of `target`.
    fn beside(target: PathBuf) -> io::Result<Self> {
        check_name(&target)?;
        if let Some(file) = lith_system::unnamed_file(directory_of(&target), 0o666)? {
            remove_abandoned(&target);
            return Ok(Self { file, target, form: Form::Nameless });
        }
        let (file, hidden) = Hidden::create(&target)?;
        Ok(Self { file, target, form: Form::Hidden(hidden) })
    }

    /// The file, open for reading and writing.
    pub(crate) const fn file(&self) -> &File {
        &self.file
    }

    /// Drops what was written.
    pub(crate) fn clear(&self) -> io::Result<()> {
        if self.file.metadata()?.is_file() { self.file.set_len(0) } else { Ok(()) }
    }

    /// Copies the first bytes of the file that it replaces, as far as there are that many.
    pub(crate) fn keep(&self, bytes: u64) -> io::Result<()> {
        if bytes == 0 || matches!(self.form, Form::InPlace) {
            return Ok(());
        }
        let mut file = &self.file;
        file.rewind()?;
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
        let directory = lith_system::open_to_sync(directory_of(&self.target))?;
        hidden.rename(&self.target)?;
        Ok(Placed { directory })
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
        self.directory.as_ref().map_or(Ok(()), lith_system::sync_directory)
    }
}

/// The folder for temporary data of what becomes of `target`: its own, or for a device, beside which there is no room,
/// that of all temporary data (`TMPDIR`).
#[must_use]
pub fn temporary_directory(target: &Path) -> PathBuf {
    let is_device = fs::metadata(target).is_ok_and(|found| is_block_device(found.file_type()));
    if is_device { std::env::temp_dir() } else { directory_of(target).to_owned() }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::Permissions,
        io::Write,
        os::unix::fs::{MetadataExt, PermissionsExt},
    };

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
    fn the_new_file_has_the_mode_of_the_old_one_and_of_new_files_otherwise() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("image");
        let mode = || fs::metadata(&target).unwrap().mode() & 0o7777;
        for old in [0o600, 0o640, 0o444] {
            fs::write(&target, "old").unwrap();
            fs::set_permissions(&target, Permissions::from_mode(old)).unwrap();
            Staged::create(&target).unwrap().commit().unwrap().sync().unwrap();
            assert_eq!(mode(), old);
            fs::remove_file(&target).unwrap();
        }
        Staged::create(&target).unwrap().commit().unwrap().sync().unwrap();
        let plain = dir.path().join("plain");
        fs::write(&plain, "").unwrap();
        assert_eq!(mode(), fs::metadata(&plain).unwrap().mode() & 0o7777);
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
        // Not only when it is complete.
        let error = Staged::create(&dir.path().join("new/")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
    }
}
