//! Defines the folders, disk and environment in which commands run.

use std::{
    env,
    ffi::OsString,
    fs, iter,
    os::unix::fs::{MetadataExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use rustix::mount::{UnmountFlags, mount_bind, unmount};

use crate::{
    error::{CommandError, failed},
    process,
    program::{self, Place, Programs, inside},
};

/// Size of the disk in bytes, which is a sparse file.
const DISK_SIZE: u64 = 200 << 30;

/// What a line begins with that is a shell's.
const SHELL: &str = "sh -c ";

/// The programs that a command line runs.
pub(crate) fn programs_of(line: &str) -> impl Iterator<Item = &str> {
    let script = line.strip_prefix(SHELL).unwrap_or(line);
    script.split(['|', ';', '&']).filter_map(|command| command.split_whitespace().next())
}

/// The folders of a run, and who can use them.
#[derive(Debug)]
pub(crate) struct Workplace {
    pub(crate) programs: Programs,
    /// Whether this process may mount and drop caches.
    pub(crate) is_root: bool,
    folder: tempfile::TempDir,
    chroot: Option<PathBuf>,
    images: PathBuf,
    /// Whether bytes that are read from images are counted apart from all others.
    pub(crate) has_disk: bool,
}

/// The values of the names in capitals in commands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    pub(crate) source: PathBuf,
    pub(crate) image: PathBuf,
    pub(crate) mount: PathBuf,
    /// What is read first.
    pub(crate) order: PathBuf,
}

impl Workplace {
    /// Makes the folders below `below`. Images that are read are kept in `images`, if that is given.
    pub(crate) fn new(
        programs: Programs,
        chroot: Option<PathBuf>,
        (below, images): (&Path, Option<&Path>),
    ) -> anyhow::Result<Self> {
        fs::create_dir_all(below).map_err(failed("create", below))?;
        let folder = tempfile::Builder::new().prefix(".lith-bench.").tempdir_in(below);
        let folder = folder.map_err(failed("create a folder in", below))?;
        let is_root = rustix::process::geteuid().is_root();
        let path = fs::canonicalize(folder.path()).map_err(failed("find", folder.path()))?;
        for name in ["disk", "mount", "warm"] {
            fs::create_dir(path.join(name)).map_err(failed("create", path.join(name)))?;
        }
        fs::write(path.join("warm/file"), [0; 4096]).map_err(failed("write", &path))?;
        let images = images.map_or_else(|| path.join("images"), Path::to_owned);
        fs::create_dir_all(&images).map_err(failed("create", &images))?;
        let images = fs::canonicalize(&images).map_err(failed("find", images))?;
        let mut place = Self { programs, is_root, folder, chroot, images, has_disk: false };
        place.enter_chroot(&path)?;
        if let Some(root) = place.chroot.clone() {
            bind(Path::new("/dev"), &root.join("dev"))?;
            bind(Path::new("/proc"), &root.join("proc"))?;
        }
        if is_root && program::kernel_has("ext4") {
            place.make_disk()?;
        }
        Ok(place)
    }

    /// A path in the folder of this run, which a command may write to. `mount` is where programs
    /// mount, as they call it; `made` is for intermediate files; `warm` has one small file, to read
    /// in order to have the programs that read in memory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        let path = self.folder.path();
        fs::canonicalize(path).unwrap_or_else(|_| path.into()).join(name)
    }

    /// The folder of images that are read.
    pub(crate) fn images(&self) -> PathBuf {
        if self.has_disk { self.path("disk") } else { self.images.clone() }
    }

    /// Makes a folder be at the same path in the chroot.
    pub(crate) fn enter_chroot(&self, path: &Path) -> anyhow::Result<()> {
        let Some(root) = &self.chroot else { return Ok(()) };
        let target = inside(root, path);
        fs::create_dir_all(&target).map_err(failed("create", &target))?;
        // What is there already has the same inode.
        let same = |a: &fs::Metadata, b: &fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
        if let (Ok(a), Ok(b)) = (fs::metadata(path), fs::metadata(&target))
            && same(&a, &b)
        {
            return Ok(());
        }
        bind(path, &target)
    }

    /// What is missing for a command line: a program of it.
    pub(crate) fn lacks_program(&self, line: &str) -> Option<String> {
        let missing = programs_of(line).find(|name| self.programs.find(name).is_none())?;
        Some(format!("no {missing} here"))
    }

    /// What is missing for mounting a filesystem by the kernel.
    pub(crate) fn lacks_filesystem(&self, name: &str) -> Option<String> {
        match name {
            _ if !program::kernel_has(name) => Some(format!("this kernel has no {name}")),
            _ if !self.is_root => Some("mounting needs root".into()),
            _ => None,
        }
    }

    /// A disk of its own for images, whose counters count nothing else: a loop device with ext4.
    fn make_disk(&mut self) -> anyhow::Result<()> {
        let file = self.images.join("disk.ext4");
        if !file.exists() {
            let new = fs::File::create(&file).and_then(|disk| disk.set_len(DISK_SIZE));
            new.map_err(failed("create", &file))?;
            let mut mkfs = Command::new("mkfs.ext4");
            let options = ["-q", "-F", "-O", "^has_journal", "-E", "lazy_itable_init=1,nodiscard"];
            if process::run(mkfs.args(options).arg(&file)).is_err() {
                fs::remove_file(&file).map_err(failed("remove", &file))?;
                return Ok(());
            }
        }
        let folder = self.path("disk");
        let mut mount = Command::new("mount");
        mount.args(["-t", "ext4", "-o", "loop,noatime"]).arg(&file).arg(&folder);
        // Without loop devices images are stored beside other files.
        if process::run(&mut mount).is_ok() {
            self.has_disk = true;
            self.enter_chroot(&folder)?;
        }
        Ok(())
    }

    /// The command of a line, and where its program is, which must exist. A line that begins with `sh -c` is left to
    /// the shell, with variables in place of names in capitals.
    pub(crate) fn command(&self, line: &str, words: &Words) -> anyhow::Result<(Command, Place)> {
        if let Some(script) = line.strip_prefix(SHELL) {
            let mut command = Command::new("sh");
            command.args(["-c", script]).env("SOURCE", &words.source).env("IMAGE", &words.image);
            command.env("MOUNT", &words.mount).env("LC_ALL", "C").current_dir(self.path(""));
            command.env("PATH", self.shell_path());
            return Ok((command, Place::Here("sh".into())));
        }
        let mut parts = line.split_whitespace();
        let name = parts.next().unwrap_or_default();
        let place = self.programs.find(name).ok_or_else(|| {
            let why = "there is no such program".into();
            CommandError { command: line.into(), why, output: String::new() }
        })?;
        let mut command = match &place {
            Place::Here(path) => Command::new(path),
            Place::Chroot(root) => {
                let mut command = Command::new("chroot");
                command.arg(root).args(["env", "-C"]).arg(self.path("")).arg(name);
                command
            }
        };
        for part in parts {
            // A name in capitals may follow an equals sign.
            let (option, word) = part.rsplit_once('=').map_or(("", part), |(a, b)| (a, b));
            let path = match word {
                "SOURCE" => Some(&words.source),
                "IMAGE" => Some(&words.image),
                "MOUNT" | "DIR" => Some(&words.mount),
                "ORDER" => Some(&words.order),
                _ => None,
            };
            match path {
                None => command.arg(part),
                Some(path) if option.is_empty() => command.arg(path),
                Some(path) => command.arg(format!("{option}={}", path.display())),
            };
        }
        command.env("LC_ALL", "C").current_dir(self.path(""));
        Ok((command, place))
    }

    /// Where shells find programs: lith first, which is measured whatever is installed.
    fn shell_path(&self) -> OsString {
        let folder = self.path("bin");
        if let Some(Place::Here(lith)) = self.programs.find("lith") {
            // It is there from the second command on.
            let _there = fs::create_dir(&folder);
            let _there = symlink(lith, folder.join("lith"));
        }
        let path = env::var_os("PATH").unwrap_or_default();
        env::join_paths(iter::once(folder).chain(env::split_paths(&path))).unwrap_or(path)
    }

    /// Syncs, so that no command pays for what an earlier one wrote, and if caches are to be cold drops what is in
    /// memory, where that can be done.
    pub(crate) fn settle(&self, cold: bool) {
        rustix::fs::sync();
        if cold && self.is_root {
            // Where it is refused caches stay warm, which the results report.
            let _refused = fs::write("/proc/sys/vm/drop_caches", "3");
        }
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        // The mounts in the chroot end with this process, which has its own.
        let disk = self.path("disk");
        if let Some(root) = self.chroot.as_ref().filter(|_| self.has_disk) {
            let _gone = unmount(inside(root, &disk), UnmountFlags::DETACH);
        }
        if self.has_disk {
            let _gone = Command::new("umount").arg(&disk).status();
        }
    }
}

fn bind(source: &Path, target: &Path) -> anyhow::Result<()> {
    mount_bind(source, target).map_err(failed("bind a folder to", target))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capital_words_become_paths() {
        let folder = tempfile::tempdir().unwrap();
        let programs = Programs::new("/lith".into(), None);
        // Without the disk: tests don't mount.
        let place = Workplace {
            programs,
            is_root: false,
            chroot: None,
            images: folder.path().into(),
            has_disk: false,
            folder: tempfile::tempdir_in(folder.path()).unwrap(),
        };
        let words = Words {
            source: "/s".into(),
            image: "/i".into(),
            mount: "/m".into(),
            ..Words::default()
        };
        let (command, found) =
            place.command("lith build -z lz4 --to=MOUNT SOURCE IMAGE", &words).unwrap();
        assert_eq!(process::text_of(&command), "/lith build -z lz4 --to=/m /s /i");
        assert_eq!(found, Place::Here("/lith".into()));
        assert!(place.command("there-is-none-of-this-name", &words).is_err());
    }
}
