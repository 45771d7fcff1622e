//! Parses the values of `-o` as mount(8) passes them to mount.erofs.

use crate::args::mount_options::{MountOption, MountOptionError};

/// How the options of mounts from a registry or an object store start.
const REMOTE: [&str; 2] = ["oci", "s3."];

/// What is done at the mount point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    New,
    /// The flags of an existing mount are changed.
    Remount,
    Move,
}

/// All options after all `-o`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct MountOptions {
    pub(super) kind: Kind,
    pub(super) options: Vec<MountOption>,
}

impl MountOptions {
    /// Parses them. An unknown option is passed to the kernel's driver, or ignored if `sloppy`.
    pub(super) fn parse<'a>(
        options: impl Iterator<Item = &'a str>,
        sloppy: bool,
    ) -> Result<Self, String> {
        let mut parsed = Self { kind: Kind::New, options: Vec::new() };
        for text in options {
            match text {
                "remount" => parsed.kind = Kind::Remount,
                "move" => parsed.kind = Kind::Move,
                // Images are read-only in any case, and mount(8) passes this unless `ro` is requested.
                "rw" => {}
                _ if REMOTE.iter().any(|remote| text.starts_with(remote)) => {
                    return Err(format!(
                        "the mount option `{text}`: only local images are mounted"
                    ));
                }
                _ => parsed.options.extend(option(text, sloppy)?),
            }
        }
        Ok(parsed)
    }
}

fn option(text: &str, sloppy: bool) -> Result<Option<MountOption>, String> {
    match text.parse() {
        Err(MountOptionError::Unknown(_)) if sloppy => Ok(None),
        Err(MountOptionError::Unknown(text)) => Ok(Some(MountOption::Kernel(text))),
        parsed => parsed.map(Some).map_err(|error| format!("`{text}`: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::mount_flags::MountFlags;

    fn parse(options: &str, sloppy: bool) -> Result<MountOptions, String> {
        MountOptions::parse(options.split(','), sloppy)
    }

    #[test]
    fn unknown_options_are_for_the_kernel() {
        let nosuid = MountOption::Flags(MountFlags::NOSUID, true);
        let new = MountOption::Kernel("new=1".to_owned());
        let parsed = parse("rw,nosuid,new=1", false).unwrap();
        assert_eq!((parsed.kind, parsed.options), (Kind::New, vec![nosuid.clone(), new]));
        assert_eq!(parse("rw,nosuid,new=1", true).unwrap().options, [nosuid]);
    }

    #[test]
    fn remount_and_move_change_a_mount() {
        assert_eq!(parse("remount,ro", false).unwrap().kind, Kind::Remount);
        assert_eq!(parse("move", false).unwrap().kind, Kind::Move);
    }

    #[test]
    fn remote_images_are_refused_by_name() {
        for text in ["oci.blob=sha256:0", "oci", "s3.endpoint=x"] {
            assert!(parse(text, true).unwrap_err().contains(text), "{text}");
        }
        assert!(parse("offset=x", true).unwrap_err().contains("offset=x"));
    }
}
