//! Parses the values of `-o` as programs with libfuse do.

use std::{num::NonZeroUsize, str::FromStr};

use crate::args::{
    mount::Mount,
    mount_options::{MountOption, MountOptionError},
};

/// Options without effect: images are read-only, and each thread has its own connection anyway.
const IGNORED: [&str; 2] = ["rw", "clone_fd"];

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum FuseOption {
    /// An option that `lith mount` has, too.
    Mount(MountOption),
    /// Run in the foreground.
    Debug,
    Threads(usize),
}

impl FuseOption {
    pub(super) fn apply(self, mount: &mut Mount) {
        match self {
            Self::Mount(option) => mount.options.push(option),
            Self::Debug => mount.foreground = true,
            Self::Threads(most) => {
                let most = NonZeroUsize::new(most).unwrap_or(NonZeroUsize::MIN);
                mount.threads = Some(mount.threads.map_or(most, |threads| threads.min(most)));
            }
        }
    }
}

impl FromStr for FuseOption {
    type Err = MountOptionError;

    fn from_str(text: &str) -> Result<Self, MountOptionError> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let wrong = || MountOptionError::Value(value.to_owned());
        match name {
            _ if IGNORED.contains(&text) => Ok(Self::Mount(MountOption::Ignored)),
            "debug" => Ok(Self::Debug),
            // Idle threads are kept, so a limit of idle threads is one of all threads; -1 means no limit.
            "max_idle_threads" if value == "-1" => Ok(Self::Mount(MountOption::Ignored)),
            "max_threads" | "max_idle_threads" => {
                value.parse().map(Self::Threads).map_err(|_no_number| wrong())
            }
            _ => match text.parse()? {
                MountOption::Kernel(text) => Err(MountOptionError::Unknown(text)),
                option => Ok(Self::Mount(option)),
            },
        }
    }
}

/// The comma-separated options after one `-o`. A backslash escapes the character after it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FuseOptions(pub(super) Vec<FuseOption>);

impl FromStr for FuseOptions {
    type Err = MountOptionError;

    fn from_str(list: &str) -> Result<Self, MountOptionError> {
        split(list).iter().map(|text| text.parse()).collect::<Result<_, _>>().map(Self)
    }
}

fn split(list: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut letters = list.chars();
    while let Some(letter) = letters.next() {
        let letter = match letter {
            ',' => {
                all.push(String::new());
                continue;
            }
            '\\' => letters.next(),
            _ => Some(letter),
        };
        if let Some(text) = all.last_mut() {
            text.extend(letter);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(list: &str) -> Result<Vec<FuseOption>, MountOptionError> {
        list.parse::<FuseOptions>().map(|options| options.0)
    }

    #[test]
    fn options_of_libfuse_are_known() {
        for (text, option) in [
            ("rw", FuseOption::Mount(MountOption::Ignored)),
            ("clone_fd", FuseOption::Mount(MountOption::Ignored)),
            ("auto_unmount", FuseOption::Mount(MountOption::Ignored)),
            ("default_permissions", FuseOption::Mount(MountOption::Ignored)),
            ("max_idle_threads=-1", FuseOption::Mount(MountOption::Ignored)),
            ("debug", FuseOption::Debug),
            ("max_threads=4", FuseOption::Threads(4)),
            ("allow_root", FuseOption::Mount(MountOption::AllowRoot)),
        ] {
            assert_eq!(parse(text), Ok(vec![option]), "{text}");
        }
    }

    #[test]
    fn unknown_options_are_refused_by_name() {
        for text in ["nonsense", "ro,acl", "umask=022", "max_threads=x", "blkdev"] {
            let refused = parse(text).unwrap_err().to_string();
            let part = text.rsplit([',', '=']).next().unwrap();
            assert!(refused.contains(part), "{text}: {refused}");
        }
    }

    #[test]
    fn a_backslash_escapes_a_comma() {
        let name = MountOption::Source("a,b\\c".to_owned());
        let device = MountOption::Device("d".into());
        let both = [name, device].map(FuseOption::Mount).to_vec();
        assert_eq!(parse(r"fsname=a\,b\\c,device=d"), Ok(both));
    }
}
