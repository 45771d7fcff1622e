//! Parses the mount options after `-o`.

use std::{fmt, path::PathBuf, str::FromStr};

use super::{
    mount_flags::MountFlags,
    value::{Size, seconds},
};

/// Options of mount(8) and FUSE without effect: they are the default here, or concern other programs.
const IGNORED: [&str; 19] = [
    "ro",
    "defaults",
    "auto",
    "noauto",
    "user",
    "nouser",
    "users",
    "nousers",
    "owner",
    "noowner",
    "group",
    "nogroup",
    "nofail",
    "_netdev",
    "quiet",
    "nomand",
    "noiversion",
    "default_permissions",
    "auto_unmount",
];

/// Names of options that only the kernel's driver knows.
const KERNEL: [&str; 12] = [
    "context",
    "fscontext",
    "defcontext",
    "rootcontext",
    "user_xattr",
    "nouser_xattr",
    "acl",
    "noacl",
    "cache_strategy",
    "dax",
    "directio",
    "inode_share",
];

/// Options that set (`true`) or clear a flag of mount(2).
pub(crate) const FLAGS: [(&str, MountFlags, bool); 24] = [
    ("nosuid", MountFlags::NOSUID, true),
    ("suid", MountFlags::NOSUID, false),
    ("nodev", MountFlags::NODEV, true),
    ("dev", MountFlags::NODEV, false),
    ("noexec", MountFlags::NOEXEC, true),
    ("exec", MountFlags::NOEXEC, false),
    ("nosymfollow", MountFlags::NOSYMFOLLOW, true),
    ("symfollow", MountFlags::NOSYMFOLLOW, false),
    ("sync", MountFlags::SYNCHRONOUS, true),
    ("async", MountFlags::SYNCHRONOUS, false),
    ("dirsync", MountFlags::DIRSYNC, true),
    ("nodirsync", MountFlags::DIRSYNC, false),
    ("noatime", MountFlags::NOATIME, true),
    ("atime", MountFlags::NOATIME, false),
    ("nodiratime", MountFlags::NODIRATIME, true),
    ("diratime", MountFlags::NODIRATIME, false),
    ("relatime", MountFlags::RELATIME, true),
    ("norelatime", MountFlags::RELATIME, false),
    ("strictatime", MountFlags::STRICTATIME, true),
    ("nostrictatime", MountFlags::STRICTATIME, false),
    ("lazytime", MountFlags::LAZYTIME, true),
    ("nolazytime", MountFlags::LAZYTIME, false),
    ("silent", MountFlags::SILENT, true),
    ("loud", MountFlags::SILENT, false),
];

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum MountOption {
    Ignored,
    AllowOther,
    AllowRoot,
    Uid(u32),
    Gid(u32),
    /// Byte offset of the image within its file.
    Offset(Size),
    Device(PathBuf),
    /// Seconds without a request after which it is unmounted.
    Timeout(u64),
    /// The source in the list of mounts.
    Source(String),
    /// The filesystem subtype in the list of mounts.
    Subtype(String),
    /// The most bytes per read request.
    MaxRead(u32),
    Loop,
    /// Flags of mount(2), and whether they are set or cleared.
    Flags(MountFlags, bool),
    /// The kernel reads uncompressed files from the image itself.
    Passthrough,
    Kernel(String),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum MountOptionError {
    Unknown(String),
    Value(String),
    Writable,
}

impl fmt::Display for MountOptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(option) => write!(f, "unknown mount option `{option}`"),
            Self::Value(value) => write!(f, "invalid value `{value}` of a mount option"),
            Self::Writable => f.write_str("images are read-only"),
        }
    }
}

impl std::error::Error for MountOptionError {}

impl FromStr for MountOption {
    type Err = MountOptionError;

    fn from_str(option: &str) -> Result<Self, MountOptionError> {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let is_for_others = name.starts_with("x-") || name.starts_with("X-") || name == "comment";
        if IGNORED.contains(&option) || option.is_empty() || is_for_others {
            return Ok(Self::Ignored);
        }
        if let Some((_, flags, set)) = FLAGS.iter().find(|(flag, ..)| *flag == option) {
            return Ok(Self::Flags(*flags, *set));
        }
        if KERNEL.contains(&name) {
            return Ok(Self::Kernel(option.to_owned()));
        }
        Ok(match name {
            "rw" => return Err(MountOptionError::Writable),
            "allow_other" => Self::AllowOther,
            "allow_root" => Self::AllowRoot,
            "loop" => Self::Loop,
            "max_read" => Self::MaxRead(parse(value)?),
            "passthrough" => Self::Passthrough,
            "uid" => Self::Uid(parse(value)?),
            "gid" => Self::Gid(parse(value)?),
            "offset" | "fsoffset" => Self::Offset(parse(value)?),
            "timeout" => Self::Timeout(duration(value)?),
            "device" if !value.is_empty() => Self::Device(value.into()),
            "fsname" if !value.is_empty() => Self::Source(value.to_owned()),
            "subtype" if !value.is_empty() => Self::Subtype(value.to_owned()),
            _ => return Err(MountOptionError::Unknown(option.to_owned())),
        })
    }
}

fn parse<T: FromStr>(value: &str) -> Result<T, MountOptionError> {
    value.parse().map_err(|_no_number| MountOptionError::Value(value.to_owned()))
}

fn duration(value: &str) -> Result<u64, MountOptionError> {
    seconds(value).map_err(|_no_duration| MountOptionError::Value(value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_mount_and_fuse_are_known() {
        for (text, option) in [
            ("ro", MountOption::Ignored),
            ("x-systemd.automount", MountOption::Ignored),
            ("allow_other", MountOption::AllowOther),
            ("uid=0", MountOption::Uid(0)),
            ("gid=100", MountOption::Gid(100)),
            ("offset=4096", MountOption::Offset(Size(4096))),
            ("offset=1M", MountOption::Offset(Size(1 << 20))),
            ("device=/dev/a=b", MountOption::Device("/dev/a=b".into())),
            ("timeout=30", MountOption::Timeout(30)),
            ("passthrough", MountOption::Passthrough),
            ("loop", MountOption::Loop),
            ("max_read=4096", MountOption::MaxRead(4096)),
            ("subtype=a", MountOption::Subtype("a".to_owned())),
            ("nosuid", MountOption::Flags(MountFlags::NOSUID, true)),
            ("async", MountOption::Flags(MountFlags::SYNCHRONOUS, false)),
            ("fsname=a", MountOption::Source("a".to_owned())),
            ("cache_strategy=disabled", MountOption::Kernel("cache_strategy=disabled".to_owned())),
        ] {
            assert_eq!(text.parse(), Ok(option), "{text}");
        }
    }

    #[test]
    fn unknown_options_are_refused_by_name() {
        let refused = |option: &str| option.parse::<MountOption>().unwrap_err().to_string();
        assert!(refused("nonsense=1").contains("nonsense=1"));
        assert!(refused("uid=root").contains("root"));
        assert!(refused("device=").contains("device"));
        assert_eq!("rw".parse::<MountOption>(), Err(MountOptionError::Writable));
    }
}
