//! Defines [`FsConfig`], Android's list of owners, modes and capabilities (`canned_fs_config`).
//!
//! Each line is `path uid gid mode`, the mode in octal, optionally followed by `capabilities=` and a number. Paths are those
//! of the whole filesystem; of several lines with one path the first counts.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
};

use lith_tree::{DisplayPath, Tree};

use crate::mount_point::{MountPoint, inodes};

/// The attribute that holds capabilities.
const CAPABILITY: &[u8] = b"security.capability";

/// The second revision of that attribute, with the flag that makes all capabilities effective (`VFS_CAP_REVISION_2`,
/// `VFS_CAP_FLAGS_EFFECTIVE`).
const REVISION: u32 = 0x0200_0001;

/// A list of owners, modes and capabilities (`canned_fs_config`).
#[derive(Clone, Debug, Default)]
pub struct FsConfig {
    entries: HashMap<Vec<u8>, Entry>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    uid: u32,
    gid: u32,
    mode: u16,
    capabilities: u64,
}

/// Why a list can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FsConfigError {
    /// It can't be read.
    #[error("{}: cannot read", path.display())]
    Read {
        /// The list.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A line has a different form.
    #[error("{}:{line}: a path, an owner, a group and an octal mode are expected", path.display())]
    Line {
        /// The list.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
    },
    /// A file is not listed.
    #[error("{} is not in the list of owners and modes", DisplayPath(.0))]
    Missing(Vec<u8>),
}

impl FsConfigError {
    /// The list's path; for [`Self::Missing`] the path that is not listed.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Read { path, .. } | Self::Line { path, .. } => path,
            Self::Missing(path) => lith_system::path(path),
        }
    }
}

impl FsConfig {
    /// Reads the list at `path`.
    ///
    /// # Errors
    /// [`FsConfigError`] names the first line that has a different form.
    pub fn read(path: &Path) -> Result<Self, FsConfigError> {
        let text = fs::read(path)
            .map_err(|source| FsConfigError::Read { path: path.to_owned(), source })?;
        let wrong = |line| FsConfigError::Line { path: path.to_owned(), line };
        Self::parse(&text).map_err(wrong)
    }

    /// Parses the lines of a list; the error is the number of the wrong line, from 1.
    fn parse(text: &[u8]) -> Result<Self, usize> {
        let mut entries = HashMap::new();
        for (number, line) in (1_usize..).zip(text.split(|byte| *byte == b'\n')) {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let (path, entry) = parse_line(line).ok_or(number)?;
            entries.entry(path).or_insert(entry);
        }
        Ok(Self { entries })
    }

    /// Sets owners, modes and capabilities of all files of `tree` as the list has them for a tree mounted at `mount_point`. The
    /// root's own path in the list is empty, without the mount point.
    ///
    /// # Errors
    /// [`FsConfigError::Missing`] names a file that is not listed.
    pub fn apply(&self, tree: &mut Tree, mount_point: &[u8]) -> Result<(), FsConfigError> {
        let mounted = MountPoint::new(mount_point);
        for inode in inodes(tree) {
            let path = match tree.path(inode) {
                path if path.is_empty() => path,
                path => mounted.relative(&path),
            };
            let Some(entry) = self.entries.get(&path) else {
                return Err(FsConfigError::Missing(path));
            };
            let metadata = &mut tree.get_mut(inode).metadata;
            (metadata.uid, metadata.gid) = (entry.uid, entry.gid);
            metadata.permissions = entry.mode;
            if entry.capabilities != 0 {
                tree.add_xattr(inode, CAPABILITY, &capability(entry.capabilities));
            }
        }
        Ok(())
    }
}

/// The root's path is a slash, or is empty before the first space.
fn parse_line(line: &[u8]) -> Option<(Vec<u8>, Entry)> {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
    let mut fields = line.split(is_space).filter(|field| !field.is_empty());
    let path = if line.first().is_some_and(is_space) { b"" } else { fields.next()? };
    let path = path.strip_prefix(b"/").unwrap_or(path);
    let (uid, gid) = (number(fields.next()?, 10)?, number(fields.next()?, 10)?);
    let mode = number(fields.next()?, 8)?;
    let capabilities = fields.find_map(|field| field.strip_prefix(b"capabilities="));
    let capabilities = match capabilities {
        None => 0,
        Some(text) => match text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")) {
            Some(digits) => number(digits, 16)?,
            None => number(text, 10)?,
        },
    };
    let entry = Entry {
        uid: u32::try_from(uid).ok()?,
        gid: u32::try_from(gid).ok()?,
        mode: u16::try_from(mode & 0o7777).ok()?,
        capabilities,
    };
    Some((path.to_vec(), entry))
}

fn number(text: &[u8], radix: u32) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    u64::from_str_radix(text, radix).ok().filter(|_| is_plain)
}

/// The attribute's value in the form of Linux, with permitted and without inherited capabilities.
fn capability(permitted: u64) -> Vec<u8> {
    let permitted = permitted.to_le_bytes();
    let (low, high) = permitted.split_at(4);
    [&REVISION.to_le_bytes()[..], low, &[0; 4], high, &[0; 4]].concat()
}

#[cfg(test)]
mod tests {
    use lith_tree::{InodeIndex, Kind, Metadata, Name};

    use super::*;

    fn tree() -> Tree {
        let mut tree = Tree::new(Metadata { uid: 77, ..Metadata::default() });
        let name = |name: &str| Name::new(name.as_bytes()).unwrap();
        let metadata = Metadata::default();
        let bin = tree.add(InodeIndex::ROOT, name("bin"), metadata, Kind::directory()).unwrap();
        tree.add(bin, name("run"), metadata, Kind::Regular { size: 0 }).unwrap();
        tree
    }

    #[test]
    fn listed_attributes_replace_those_of_the_source() {
        let list = b"/ 0 0 0755\nsystem/bin 0 2000 40751 selabel=x capabilities=0x0\n\
            system/bin/run 1000 1001 6750 capabilities=0x1000001400\nsystem/bin/run 5 5 5\n";
        let config = FsConfig::parse(list).unwrap();
        for mount_point in ["/system", "system/"] {
            let mut tree = tree();
            config.apply(&mut tree, mount_point.as_bytes()).unwrap();
            let found = |path: &str| {
                let metadata = tree.get(tree.find(path.as_bytes()).unwrap()).metadata;
                (metadata.uid, metadata.gid, metadata.permissions)
            };
            assert_eq!(found(""), (0, 0, 0o755));
            assert_eq!(found("bin"), (0, 2000, 0o751));
            assert_eq!(found("bin/run"), (1000, 1001, 0o6750));
            let run = tree.get(tree.find(b"bin/run").unwrap());
            let expected: &[u8] =
                &[1, 0, 0, 2, 0, 0x14, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0];
            let [capability] = tree.xattrs.get(run.metadata.xattrs) else {
                panic!("one attribute")
            };
            assert_eq!((&*capability.name, &*capability.value), (CAPABILITY, expected));
        }
    }

    #[test]
    fn what_is_not_listed_is_named() {
        let config = FsConfig::parse(b" 1 2 0700\nbin 0 0 755").unwrap();
        let mut tree = tree();
        let error = config.apply(&mut tree, b"").unwrap_err();
        assert_eq!(error.to_string(), "bin/run is not in the list of owners and modes");
        let error = config.apply(&mut tree, b"/vendor").unwrap_err();
        assert!(error.to_string().starts_with("vendor/bin is not"), "{error}");
        for (text, line) in [(&b"a 0 0\n"[..], 1), (b"a 0 0 755\nb 0 x 755", 2), (b"a 0 0 8", 1)] {
            assert_eq!(FsConfig::parse(text).unwrap_err(), line);
        }
    }
}
