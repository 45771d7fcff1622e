//! Defines the arguments of `lith build` about attributes of files, and of the image.

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, ValueEnum};
use lith::{
    Adjust, Times,
    builder::ImageId,
    transform::{self, FileContexts, FsConfig, FsConfigError, Setting, XattrFilter},
    tree::{Timestamp, Tree},
};

use super::value;

#[derive(Args, Debug)]
#[command(next_help_heading = "Attributes")]
pub(super) struct AttributeArguments {
    /// Everything belongs to root
    #[arg(long, conflicts_with_all = ["uid", "gid"])]
    all_root: bool,

    /// Everything belongs to this user, a number or a name of this machine
    #[arg(long, value_name = "USER", value_parser = user)]
    uid: Option<u32>,

    /// Everything belongs to this group, a number or a name of this machine
    #[arg(long, value_name = "GROUP", value_parser = group)]
    gid: Option<u32>,

    /// Add this to all user ids
    #[arg(
        long,
        value_name = "N",
        default_value = "0",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    uid_offset: i64,

    /// Add this to all group ids
    #[arg(
        long,
        value_name = "N",
        default_value = "0",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    gid_offset: i64,

    /// Set attributes of files that match, which does not include what is below: `/bin/su:mode=4755`,
    /// `**:file-mode=0644,dir-mode=0755,owner=root,group=0`, `**:mode=go-w`, `/:mtime=0`, `*.so:xattr.user.note=text`; can be
    /// repeated
    #[arg(long = "set", value_name = "GLOB:KEY=VALUE,...")]
    pub(super) settings: Vec<Setting>,

    /// Record the SHA-256 of each file in an extended attribute, which --digests of `check`, `extract` and `tar` compares
    /// [default name: erofs.fingerprint.v1, which Linux doesn't list]
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "erofs.fingerprint.v1")]
    pub(super) digests: Option<OsString>,

    /// Keep only extended attributes whose names match: `user.*`; can be repeated
    #[arg(long, value_name = "GLOB")]
    xattrs_include: Vec<String>,

    /// Drop extended attributes whose names match; can be repeated
    #[arg(long, value_name = "GLOB")]
    xattrs_exclude: Vec<String>,

    /// SELinux labels, in the format of `selinux_file(5)`
    #[arg(long, value_name = "FILE", value_parser = value::place())]
    file_contexts: Option<PathBuf>,

    /// Owners, modes and capabilities of all files, in Android's format
    #[arg(long, value_name = "FILE", value_parser = value::place())]
    fs_config_file: Option<PathBuf>,

    /// The prefix of paths in --file-contexts and --fs-config-file
    #[arg(long, value_name = "PATH", default_value = "", hide_default_value = true)]
    mount_point: OsString,

    /// The time for --mtime, in seconds since 1970 or as a date [default: `SOURCE_DATE_EPOCH`]
    #[arg(short = 'T', long, value_name = "TIME", value_parser = value::time, allow_hyphen_values = true)]
    timestamp: Option<Timestamp>,

    /// Modification times of files: keep, clamp (none later than the timestamp) or fixed (all the timestamp)
    /// [default: fixed with -T, clamp with `SOURCE_DATE_EPOCH`, else keep]
    #[arg(long, value_name = "RULE", hide_possible_values = true)]
    mtime: Option<MtimeRule>,

    /// The image's UUID: a UUID, random, clear (zeros), or content (a digest of the image's content)
    #[arg(short = 'U', long, value_name = "UUID", default_value = "content", value_parser = value::image_id)]
    pub(super) uuid: ImageId,

    /// The volume's name, at most 15 bytes
    #[arg(short = 'L', long)]
    pub(super) label: Option<OsString>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum MtimeRule {
    Keep,
    Clamp,
    Fixed,
}

/// What is changed of the files of a tree by tables and patterns.
#[derive(Debug)]
pub(crate) struct Tables {
    mount_point: Vec<u8>,
    xattrs: XattrFilter,
    owners: Option<FsConfig>,
    labels: Option<FileContexts>,
}

impl Tables {
    /// Changes a tree.
    pub(crate) fn apply(&self, tree: &mut Tree) -> Result<(), FsConfigError> {
        self.xattrs.apply(tree);
        if let Some(owners) = &self.owners {
            owners.apply(tree, &self.mount_point)?;
        }
        if let Some(labels) = &self.labels {
            labels.apply(tree, &self.mount_point);
        }
        Ok(())
    }
}

/// An offset modulo 2³², as ids are.
pub(crate) fn wrapped(offset: i64) -> u32 {
    u32::try_from(offset.rem_euclid(1 << 32)).expect("a remainder modulo 2³² has 32 bits")
}

fn user(text: &str) -> Result<u32, &'static str> {
    transform::user(text).ok_or("expected a number, or a user in /etc/passwd")
}

fn group(text: &str) -> Result<u32, &'static str> {
    transform::group(text).ok_or("expected a number, or a group in /etc/group")
}

impl AttributeArguments {
    pub(super) fn adjust(&self, epoch: Option<Timestamp>) -> Result<Adjust, String> {
        let [uid, gid] = owners(self.all_root, [self.uid, self.gid]);
        let times = times(self.mtime, self.timestamp, epoch)?;
        let (uid_offset, gid_offset) = (wrapped(self.uid_offset), wrapped(self.gid_offset));
        Ok(Adjust { uid, gid, uid_offset, gid_offset, times, ..Adjust::default() })
    }

    /// The tables that are applied to the tree.
    pub(super) fn tables(&self) -> Result<Tables, String> {
        let failed =
            |option, error: &dyn std::error::Error| format!("{option}: {}", super::one_line(error));
        let owners = self.fs_config_file.as_deref().map(FsConfig::read).transpose();
        let labels = self.file_contexts.as_deref().map(FileContexts::read).transpose();
        let xattrs = XattrFilter::new(&self.xattrs_include, &self.xattrs_exclude);
        Ok(Tables {
            mount_point: self.mount_point.clone().into_encoded_bytes(),
            xattrs: xattrs.map_err(|error| super::one_line(&error))?,
            owners: owners.map_err(|error| failed("--fs-config-file", &error))?,
            labels: labels.map_err(|error| failed("--file-contexts", &error))?,
        })
    }
}

/// The rule for modification times: as given, else by the origin of the timestamp.
fn times(
    rule: Option<MtimeRule>,
    given: Option<Timestamp>,
    epoch: Option<Timestamp>,
) -> Result<Times, String> {
    let rule = rule.unwrap_or(match (given, epoch) {
        (Some(_), _) => MtimeRule::Fixed,
        (None, Some(_)) => MtimeRule::Clamp,
        (None, None) => MtimeRule::Keep,
    });
    let time = || {
        let time = given.or(epoch);
        time.ok_or(
            "--mtime clamp and fixed need --timestamp, or SOURCE_DATE_EPOCH in the environment",
        )
    };
    Ok(match rule {
        MtimeRule::Keep => Times::Keep,
        MtimeRule::Clamp => Times::Clamp(time()?),
        MtimeRule::Fixed => Times::Fixed(time()?),
    })
}

/// User and group that replace those of the source.
pub(crate) fn owners(all_root: bool, given: [Option<u32>; 2]) -> [Option<u32>; 2] {
    given.map(|id| id.or(all_root.then_some(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_numbers_or_names() {
        assert_eq!((user("7"), user("root"), group("root")), (Ok(7), Ok(0), Ok(0)));
        assert!(user("nobody at all").is_err() && user("-1").is_err());
    }

    #[test]
    fn offsets_wrap() {
        assert_eq!([wrapped(5), wrapped(-1), wrapped(1 << 32)], [5, u32::MAX, 0]);
    }

    #[test]
    fn times_follow_the_rule_or_where_they_come_from() {
        let (one, two) = (Timestamp { sec: 1, nsec: 0 }, Timestamp { sec: 2, nsec: 0 });
        let (keep, clamp, fixed) = (MtimeRule::Keep, MtimeRule::Clamp, MtimeRule::Fixed);
        for (rule, given, epoch, expected) in [
            (None, None, None, Some(Times::Keep)),
            (None, Some(one), None, Some(Times::Fixed(one))),
            (None, None, Some(two), Some(Times::Clamp(two))),
            (None, Some(one), Some(two), Some(Times::Fixed(one))),
            (Some(keep), Some(one), Some(two), Some(Times::Keep)),
            (Some(clamp), Some(one), Some(two), Some(Times::Clamp(one))),
            (Some(fixed), None, Some(two), Some(Times::Fixed(two))),
            (Some(fixed), None, None, None),
        ] {
            assert_eq!(times(rule, given, epoch).ok(), expected, "{rule:?} {given:?} {epoch:?}");
        }
    }
}
