//! Finds the programs that take part, and their versions.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use crate::results::Program;

/// The folders in which a chroot has its programs.
const FOLDERS: [&str; 5] = ["usr/local/bin", "usr/bin", "usr/sbin", "bin", "sbin"];
/// Programs that are looked up in the chroot first: those of distributions are often old.
const RIVALS: [&str; 9] = [
    "mkfs.erofs",
    "fsck.erofs",
    "erofsfuse",
    "mksquashfs",
    "unsquashfs",
    "squashfuse",
    "squashfuse_ll",
    "mkdwarfs",
    "dwarfs",
];

#[derive(Clone, Debug)]
pub(crate) struct Programs {
    lith: PathBuf,
    /// A root filesystem with rivals in it.
    chroot: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// At a path of this machine.
    Here(PathBuf),
    /// Under its name in the chroot.
    Chroot(PathBuf),
}

impl Place {
    /// The path outside of the chroot of what the program sees as `path`.
    pub(crate) fn outside(&self, path: &Path) -> PathBuf {
        match self {
            Self::Here(_) => path.into(),
            Self::Chroot(root) => inside(root, path),
        }
    }
}

/// What the chroot calls `path`.
pub(crate) fn inside(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

impl Programs {
    pub(crate) const fn new(lith: PathBuf, chroot: Option<PathBuf>) -> Self {
        Self { lith, chroot }
    }

    /// Where a program is, if it is anywhere.
    pub(crate) fn find(&self, name: &str) -> Option<Place> {
        if name == "lith" {
            return Some(Place::Here(self.lith.clone()));
        }
        let inside = self.chroot.as_ref().filter(|_| RIVALS.contains(&name));
        if let Some(root) = inside.filter(|root| found_below(root, name)) {
            return Some(Place::Chroot(root.clone()));
        }
        // Ordinary users' path lacks the folders of mkfs.*.
        let path = env::var_os("PATH").unwrap_or_default();
        let folders =
            env::split_paths(&path).chain(FOLDERS.map(|folder| Path::new("/").join(folder)));
        let mut places = folders.map(|folder| folder.join(name));
        places.find(|place| is_program(place)).map(Place::Here)
    }

    /// What a program prints as its version, if it is there.
    pub(crate) fn version(&self, name: &str) -> Option<Program> {
        let option = match name {
            "lith" | "erofsfuse" | "squashfuse" | "squashfuse_ll" => "--version",
            "mksquashfs" | "unsquashfs" => "-version",
            "mkfs.ext4" | "mkfs.xfs" | "mkfs.btrfs" | "mkfs.f2fs" | "mkfs.erofs" | "fsck.erofs" => {
                "-V"
            }
            _ => "--help",
        };
        let mut command = match self.find(name)? {
            Place::Here(path) => Command::new(path),
            Place::Chroot(root) => {
                let mut command = Command::new("chroot");
                command.arg(root).arg(name);
                command
            }
        };
        let output = command.arg(option).output().ok()?;
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        let version = text.lines().find(|line| has_version(line)).unwrap_or_default();
        Some(Program { name: name.into(), version: version.trim().into() })
    }
}

fn found_below(root: &Path, name: &str) -> bool {
    FOLDERS.iter().any(|folder| is_program(&root.join(folder).join(name)))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Whether a line holds digits around a point.
fn has_version(line: &str) -> bool {
    let is_number = |text: &str| text.chars().any(|c| c.is_ascii_digit());
    line.split_whitespace()
        .any(|word| word.split_once('.').is_some_and(|(a, b)| is_number(a) && is_number(b)))
}

/// Whether the kernel has a filesystem, perhaps after loading a module.
pub(crate) fn kernel_has(name: &str) -> bool {
    let known = || {
        let list = fs::read_to_string("/proc/filesystems").unwrap_or_default();
        list.split_whitespace().any(|word| word == name)
    };
    // Whether there was a module shows in the list alone.
    known() || { Command::new("modprobe").args(["-q", name]).status().is_ok() && known() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_where_they_are() {
        let root = tempfile::tempdir().unwrap();
        let programs = Programs::new("/lith".into(), Some(root.path().into()));
        assert_eq!(programs.find("lith"), Some(Place::Here("/lith".into())));
        assert!(matches!(programs.find("sh"), Some(Place::Here(_))));
        assert_eq!(programs.find("there-is-none-of-this-name"), None);
        let folder = root.path().join("usr/bin");
        fs::create_dir_all(&folder).unwrap();
        fs::copy("/bin/sh", folder.join("dwarfs")).unwrap();
        assert_eq!(programs.find("dwarfs"), Some(Place::Chroot(root.path().into())));
    }

    #[test]
    fn versions_are_told_from_other_lines() {
        assert!(has_version("mkfs.erofs (erofs-utils) 1.9.4"));
        assert!(has_version("fio-3.33"));
        assert!(!has_version("usage: mkfs.erofs [options] FILE. See more"));
    }

    #[test]
    fn the_kernel_has_its_own_filesystems() {
        assert!(kernel_has("proc"));
        assert!(!kernel_has("nosuchfs"));
    }
}
