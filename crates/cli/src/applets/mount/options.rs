//! What do the words behind `-o` say to mount.erofs?

use crate::args::mount_options::{MountOption, MountOptionError};

/// What begins the words of mounts from a registry or an object store.
const REMOTE: [&str; 2] = ["oci", "s3."];

/// What is done with the mount.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// It is made.
    New,
    /// Its flags are changed.
    Remount,
    /// It goes to another place.
    Move,
}

/// All words behind all `-o`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct MountWords {
    pub(super) kind: Kind,
    pub(super) options: Vec<MountOption>,
}

impl MountWords {
    /// Reads them. A word that nobody here knows is for the kernel's driver, or is left out if that is asked for.
    pub(super) fn read<'a>(
        words: impl Iterator<Item = &'a str>,
        sloppy: bool,
    ) -> Result<Self, String> {
        let mut read = Self { kind: Kind::New, options: Vec::new() };
        for word in words {
            match word {
                "remount" => read.kind = Kind::Remount,
                "move" => read.kind = Kind::Move,
                // Images are read-only in any case, and mount(8) says this of all that is not said to be.
                "rw" => {}
                _ if REMOTE.iter().any(|remote| word.starts_with(remote)) => {
                    return Err(format!(
                        "the mount option `{word}`: only local images are mounted"
                    ));
                }
                _ => read.options.extend(option(word, sloppy)?),
            }
        }
        Ok(read)
    }
}

fn option(word: &str, sloppy: bool) -> Result<Option<MountOption>, String> {
    match word.parse() {
        Err(MountOptionError::Unknown(_)) if sloppy => Ok(None),
        Err(MountOptionError::Unknown(word)) => Ok(Some(MountOption::Kernel(word))),
        read => read.map(Some).map_err(|error| format!("`{word}`: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use rustix::mount::MountFlags;

    use super::*;

    fn read(words: &str, sloppy: bool) -> Result<MountWords, String> {
        MountWords::read(words.split(','), sloppy)
    }

    #[test]
    fn what_nobody_knows_is_the_kernels() {
        let nosuid = MountOption::Flags(MountFlags::NOSUID, true);
        let new = MountOption::Kernel("new=1".to_owned());
        let words = read("rw,nosuid,new=1", false).unwrap();
        assert_eq!((words.kind, words.options), (Kind::New, vec![nosuid.clone(), new]));
        assert_eq!(read("rw,nosuid,new=1", true).unwrap().options, [nosuid]);
    }

    #[test]
    fn mounts_are_changed() {
        assert_eq!(read("remount,ro", false).unwrap().kind, Kind::Remount);
        assert_eq!(read("move", false).unwrap().kind, Kind::Move);
    }

    #[test]
    fn what_needs_a_network_is_refused_by_name() {
        for word in ["oci.blob=sha256:0", "oci", "s3.endpoint=x"] {
            assert!(read(word, true).unwrap_err().contains(word), "{word}");
        }
        assert!(read("offset=x", true).unwrap_err().contains("offset=x"));
    }
}
