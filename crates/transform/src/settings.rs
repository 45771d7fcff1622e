//! Defines [`Settings`], which set attributes of the files that patterns match.

use std::{collections::HashSet, str::FromStr};

use lith_tree::{InodeIndex, Kind, Timestamp, Tree, Xattr};

use crate::{
    exclude::{Excludes, Role, Unmatched, Verdict},
    mode::ModeChange,
    names,
    patterns::ExcludeError,
};

/// What is set of the files that a pattern matches: `GLOB:KEY=VALUE[,KEY=VALUE…]`.
///
/// The pattern is as in [`Excludes`], and `/` is the root; it matches files themselves, not what is below. Keys are `mode`,
/// `file-mode` and `dir-mode` (a [`ModeChange`]: octal, or as in `go-w`), `owner`, `group` (numbers, or names of this
/// machine), `mtime` (seconds since 1970) and `xattr.NAME`, whose value is text.
#[derive(Clone, Debug)]
pub struct Setting {
    pattern: String,
    files: Excludes,
    changes: Vec<Change>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Change {
    /// The mode of all files except symbolic links.
    Mode(ModeChange),
    /// The mode of all files except directories and symbolic links.
    FileMode(ModeChange),
    DirMode(ModeChange),
    Owner(u32),
    Group(u32),
    Mtime(Timestamp),
    Xattr(Xattr),
}

/// Why a text is no setting.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// The text has another form.
    #[error("GLOB:KEY=VALUE[,KEY=VALUE...] is expected")]
    Form,
    /// There is no such key.
    #[error("{0:?} is none of mode, file-mode, dir-mode, owner, group, mtime and xattr.NAME")]
    Key(String),
    /// A key has a value that it can't have.
    #[error("{key} can't be {value:?}")]
    Value {
        /// The key.
        key: String,
        /// Its value.
        value: String,
    },
    /// The pattern is invalid.
    #[error(transparent)]
    Pattern(ExcludeError),
}

impl FromStr for Setting {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let (pattern, changes) = text.split_once(':').ok_or(SettingError::Form)?;
        if pattern.is_empty() {
            return Err(SettingError::Form);
        }
        let files = Excludes::new([pattern]).map_err(SettingError::Pattern)?;
        let changes = changes.split(',').map(str::parse).collect::<Result<_, _>>()?;
        Ok(Self { pattern: pattern.to_owned(), files, changes })
    }
}

impl FromStr for Change {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let (key, value) = text.split_once('=').ok_or(SettingError::Form)?;
        let wrong = || SettingError::Value { key: key.to_owned(), value: value.to_owned() };
        let mode = || value.parse().map_err(|_no_mode| wrong());
        Ok(match key {
            "mode" => Self::Mode(mode()?),
            "file-mode" => Self::FileMode(mode()?),
            "dir-mode" => Self::DirMode(mode()?),
            "owner" => Self::Owner(names::user(value).ok_or_else(wrong)?),
            "group" => Self::Group(names::group(value).ok_or_else(wrong)?),
            "mtime" => {
                let sec = value.parse().map_err(|_no_number| wrong())?;
                Self::Mtime(Timestamp { sec, nsec: 0 })
            }
            key => {
                let name = key.strip_prefix("xattr.").filter(|name| !name.is_empty());
                let name = name.ok_or_else(|| SettingError::Key(key.to_owned()))?;
                Self::Xattr(Xattr { name: name.as_bytes().into(), value: value.as_bytes().into() })
            }
        })
    }
}

impl Setting {
    /// Sets the attributes of all files of `tree` that match. Returns the pattern if there are none.
    pub fn apply(&self, tree: &mut Tree) -> Option<Unmatched> {
        let matches: HashSet<InodeIndex> = tree
            .walk()
            .filter(|visit| {
                let name = visit.name.map_or(&b""[..], |name| name.as_bytes());
                let parent =
                    if self.files.needs_paths() { tree.path(visit.parent) } else { Vec::new() };
                self.files.verdict(&parent, name) == Some(Verdict::Excluded)
            })
            .map(|visit| visit.inode)
            .collect();
        for inode in &matches {
            self.changes.iter().for_each(|change| change.apply(tree, *inode));
        }
        matches.is_empty().then(|| Unmatched::new(Role::Setting, &self.pattern))
    }
}

impl Change {
    fn apply(&self, tree: &mut Tree, inode: InodeIndex) {
        let file = tree.get_mut(inode);
        let is_directory = file.as_directory().is_some();
        let has_mode = !matches!(file.kind, Kind::Symlink(_));
        let applies = match self {
            Self::Mode(_) => has_mode,
            Self::FileMode(_) => has_mode && !is_directory,
            Self::DirMode(_) => is_directory,
            _ => true,
        };
        match self {
            _ if !applies => {}
            Self::Mode(mode) | Self::FileMode(mode) | Self::DirMode(mode) => {
                let permissions = &mut file.metadata.permissions;
                *permissions = mode.of(*permissions, is_directory);
            }
            Self::Owner(uid) => file.metadata.uid = *uid,
            Self::Group(gid) => file.metadata.gid = *gid,
            Self::Mtime(time) => file.metadata.mtime = *time,
            Self::Xattr(Xattr { name, value }) => tree.add_xattr(inode, name, value),
        }
    }
}

#[cfg(test)]
mod tests {
    use lith_tree::{Metadata, Name};

    use super::*;

    #[test]
    fn settings_apply_in_order_to_what_matches() {
        let mut tree = Tree::new(Metadata::default());
        let name = |name: &str| Name::new(name.as_bytes()).unwrap();
        let metadata = Metadata { permissions: 0o777, uid: 9, ..Metadata::default() };
        let bin = tree.add(InodeIndex::ROOT, name("bin"), metadata, Kind::directory()).unwrap();
        let file = tree.add(bin, name("su"), metadata, Kind::Regular { size: 0 }).unwrap();
        let link = Kind::Symlink(b"x"[..].into());
        let link = tree.add(bin, name("link"), metadata, link).unwrap();
        let settings = [
            "**:file-mode=0644,dir-mode=755,owner=root",
            "/bin/su:mode=4755,group=7,xattr.user.a=b:c",
            "/:mode=700",
            "li*:mode=0",
            "/bin/su:mode=go-r,mode=u=rw,mtime=-7",
        ];
        for setting in settings {
            assert_eq!(setting.parse::<Setting>().unwrap().apply(&mut tree), None, "{setting}");
        }
        let facts = |inode| {
            let metadata = tree.get(inode).metadata;
            (metadata.permissions, metadata.uid, metadata.gid)
        };
        assert_eq!(facts(InodeIndex::ROOT), (0o700, 0, 0));
        assert_eq!(facts(bin), (0o755, 0, 0));
        assert_eq!(facts(file), (0o611, 0, 7));
        assert_eq!(tree.get(file).metadata.mtime, Timestamp { sec: -7, nsec: 0 });
        assert_eq!(facts(link), (0o777, 0, 0));
        let [xattr] = tree.xattrs.get(tree.get(file).metadata.xattrs) else { panic!("one") };
        assert_eq!((&*xattr.name, &*xattr.value), (&b"user.a"[..], &b"b:c"[..]));
        let unmatched = "*.o:mode=0".parse::<Setting>().unwrap().apply(&mut tree).unwrap();
        assert_eq!(unmatched.to_string(), "the setting for *.o matches nothing");
    }

    #[test]
    fn wrong_settings_are_named() {
        for (text, expected) in [
            ("*.o", "GLOB:KEY=VALUE"),
            (":mode=0", "GLOB:KEY=VALUE"),
            ("*:mode", "GLOB:KEY=VALUE"),
            ("*:mode=8", "mode can't be \"8\""),
            ("*:mode=17777", "mode can't be"),
            ("*:mode=+755", "mode can't be"),
            ("*:owner=nobody at all", "owner can't be \"nobody at all\""),
            ("*:mtime=today", "mtime can't be \"today\""),
            ("*:color=red", "\"color\" is none of"),
            ("*:xattr.=x", "\"xattr.\" is none of"),
            ("a[:mode=0", "cannot exclude by the pattern"),
        ] {
            let error = text.parse::<Setting>().unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
