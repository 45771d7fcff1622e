//! What becomes of a half-written file when its writer ends? Defines [`Hidden`], the temporary name of such a file, which goes
//! with its owner, with a signal ([`remove_hidden`]), and after SIGKILL with the next file for the same path.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    process,
    sync::{Mutex, MutexGuard, PoisonError},
};

use lith_system::Lock;

const SUFFIX: &str = "lith-tmp";
/// The most files for one path that a process writes at once.
const ATTEMPTS: u32 = 100;

/// All hidden names of this process; `None` once they are removed for good.
static ALL: Mutex<Option<BTreeSet<PathBuf>>> = Mutex::new(Some(BTreeSet::new()));

/// A temporary name beside the final one, removed when this is dropped. The writer holds a lock (`flock`) on the file, by
/// which others see whether it is still alive.
#[derive(Debug)]
pub struct Hidden {
    path: PathBuf,
}

impl Hidden {
    /// Creates a file that is to replace `target`, open for reading and writing.
    ///
    /// # Errors
    /// Those of the operating system; [`io::ErrorKind::Interrupted`] after [`remove_hidden`].
    pub fn create(target: &Path) -> io::Result<(File, Self)> {
        check_name(target)?;
        remove_abandoned(target);
        let new = |path: &Path| {
            let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
            lock(&file);
            match is_at(&file, path) {
                Ok(true) => Ok(file),
                // Before it was locked, another process may have taken it for abandoned.
                Ok(false) => Err(io::ErrorKind::AlreadyExists.into()),
                Err(error) => fs::remove_file(path).and(Err(error)),
            }
        };
        Self::make(target, new)
    }

    /// Gives a file without a name a hidden one.
    pub(super) fn link(file: &File, target: &Path) -> io::Result<Self> {
        lock(file);
        let link = |path: &Path| lith_system::give_name(file, path);
        Self::make(target, link).map(|((), hidden)| hidden)
    }

    /// Calls `make` with names until there is one that no file has.
    fn make<T>(target: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(T, Self)> {
        let mut guard = all();
        let all = guard.as_mut().ok_or(io::ErrorKind::Interrupted)?;
        for attempt in 0..ATTEMPTS {
            let path = name(target, attempt);
            match make(&path) {
                Ok(file) => {
                    all.insert(path.clone());
                    return Ok((file, Self { path }));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Gives the file its final name, in place of a file that has it.
    ///
    /// # Errors
    /// Those of the operating system; the file is removed then.
    pub fn rename(self, target: &Path) -> io::Result<()> {
        let mut all = all();
        fs::rename(&self.path, target)?;
        // From here on the hidden name may be another file's.
        if let Some(all) = all.as_mut() {
            all.remove(&self.path);
        }
        Ok(())
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        if let Some(all) = all().as_mut()
            && all.remove(&self.path)
        {
            // Nobody is left to tell.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Refuses a path that only a directory can have, before anything is written for it.
pub(super) fn check_name(target: &Path) -> io::Result<()> {
    let ends_in_slash = target.as_os_str().as_encoded_bytes().ends_with(b"/");
    if ends_in_slash { Err(io::ErrorKind::NotADirectory.into()) } else { Ok(()) }
}

/// Removes the temporary files of all images that this process is writing, and of all other files under way. For a program
/// that is about to end by a signal: afterwards, no such file can be created.
pub fn remove_hidden() {
    for path in all().take().into_iter().flatten() {
        // Nobody is left to tell.
        let _ = fs::remove_file(path);
    }
}

/// Removes what killed writers of files for `target` left in its directory, as far as it can be known that they are gone.
pub(super) fn remove_abandoned(target: &Path) {
    let directory = directory_of(target);
    let prefix = prefix(target);
    // What can't be listed or removed harms only by its size.
    for name in lith_system::names(directory).into_iter().flatten().flatten() {
        if is_hidden_name(name.as_encoded_bytes(), prefix.as_encoded_bytes()) {
            let _ = remove_if_abandoned(&directory.join(name));
        }
    }
}

fn is_hidden_name(name: &[u8], prefix: &[u8]) -> bool {
    let number = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(SUFFIX.as_bytes()));
    let number = number.and_then(|rest| rest.strip_suffix(b"."));
    number.is_some_and(|number| {
        !number.is_empty() && number.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-')
    })
}

fn remove_if_abandoned(path: &Path) -> io::Result<()> {
    let open = |writes| lith_system::open_as_it_is(path, writes);
    // Over NFS, only who may write can lock.
    let file = open(true).or_else(|_read_only| open(false))?;
    if file.metadata()?.is_file() {
        lith_system::lock(&file, Lock::AtOnce)?;
        fs::remove_file(path)?;
    }
    Ok(())
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let own = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(lith_system::status(&own).id == lith_system::status(&found).id),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Where there are no locks, nobody can take the file for abandoned.
fn lock(file: &File) {
    let _ = lith_system::lock(file, Lock::AtOnce);
}

fn all() -> MutexGuard<'static, Option<BTreeSet<PathBuf>>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn directory_of(target: &Path) -> &Path {
    target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// `.NAME.`, where a long name is cut, so that the hidden one is no longer than names may be.
fn prefix(target: &Path) -> OsString {
    let full = target.file_name().unwrap_or_default().to_string_lossy();
    format!(".{}.", full.chars().take(50).collect::<String>()).into()
}

fn name(target: &Path, attempt: u32) -> PathBuf {
    let mut name = prefix(target);
    name.push(match attempt {
        0 => format!("{}.{SUFFIX}", process::id()),
        further => format!("{}-{further}.{SUFFIX}", process::id()),
    });
    directory_of(target).join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn several_files_for_one_path_have_names_of_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("image");
        let (_first, one) = Hidden::create(&target).unwrap();
        let (_second, two) = Hidden::create(&target).unwrap();
        assert_eq!(names(dir.path()).len(), 2);
        one.rename(&target).unwrap();
        drop(two);
        assert_eq!(names(dir.path()), ["image"]);
    }

    #[test]
    fn only_what_a_dead_writer_left_for_the_same_path_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in [".image.77.lith-tmp", ".image.77-1.lith-tmp"] {
            fs::write(at(name), "left").unwrap();
        }
        let others = [".image.lith-tmp", ".image.7x.lith-tmp", ".images.77.lith-tmp", "image.77"];
        for name in others {
            fs::write(at(name), "kept").unwrap();
        }
        let mut expected = others.to_vec();
        fs::create_dir(at(".image.5.lith-tmp")).unwrap();
        std::os::unix::fs::symlink("image.77", at(".image.6.lith-tmp")).unwrap();
        expected.extend([".image.5.lith-tmp", ".image.6.lith-tmp", ".image.8.lith-tmp"]);
        let alive = File::create(at(".image.8.lith-tmp")).unwrap();
        lock(&alive);
        drop(Hidden::create(&at("image")).unwrap());
        expected.sort_unstable();
        assert_eq!(names(dir.path()), expected);
    }

    #[test]
    fn long_names_and_odd_ones_are_cut() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("ü".repeat(120));
        let (_file, hidden) = Hidden::create(&target).unwrap();
        hidden.rename(&target).unwrap();
        assert_eq!(names(dir.path()).len(), 1);
    }
}
