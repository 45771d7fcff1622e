//! What do the words behind `-o` say to a program of libfuse?

use std::{num::NonZeroUsize, str::FromStr};

use crate::args::{
    mount::Mount,
    mount_options::{MountOption, MountOptionError},
};

/// Words that change nothing: images are read-only, and each thread has its own connection anyway.
const IDLE: [&str; 2] = ["rw", "clone_fd"];

/// One word behind `-o`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum FuseOption {
    /// As `lith mount` has it.
    Mount(MountOption),
    /// In the foreground.
    Debug,
    /// At most so many threads.
    Threads(usize),
}

impl FuseOption {
    /// Makes it part of a mount.
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

    fn from_str(word: &str) -> Result<Self, MountOptionError> {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let wrong = || MountOptionError::Value(value.to_owned());
        match name {
            _ if IDLE.contains(&word) => Ok(Self::Mount(MountOption::Idle)),
            "debug" => Ok(Self::Debug),
            // Threads that have nothing to do stay, so a limit of those is one of all. Below zero, there is none.
            "max_idle_threads" if value == "-1" => Ok(Self::Mount(MountOption::Idle)),
            "max_threads" | "max_idle_threads" => {
                value.parse().map(Self::Threads).map_err(|_no_number| wrong())
            }
            _ => match word.parse()? {
                MountOption::Kernel(word) => Err(MountOptionError::Unknown(word)),
                option => Ok(Self::Mount(option)),
            },
        }
    }
}

/// The words behind one `-o`, with commas between. A backslash takes the meaning from what follows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FuseOptions(pub(super) Vec<FuseOption>);

impl FromStr for FuseOptions {
    type Err = MountOptionError;

    fn from_str(words: &str) -> Result<Self, MountOptionError> {
        split(words).iter().map(|word| word.parse()).collect::<Result<_, _>>().map(Self)
    }
}

fn split(words: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut letters = words.chars();
    while let Some(letter) = letters.next() {
        let letter = match letter {
            ',' => {
                all.push(String::new());
                continue;
            }
            '\\' => letters.next(),
            _ => Some(letter),
        };
        if let Some(word) = all.last_mut() {
            word.extend(letter);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Result<Vec<FuseOption>, MountOptionError> {
        words.parse::<FuseOptions>().map(|options| options.0)
    }

    #[test]
    fn words_of_libfuse_are_known() {
        for (word, option) in [
            ("rw", FuseOption::Mount(MountOption::Idle)),
            ("clone_fd", FuseOption::Mount(MountOption::Idle)),
            ("auto_unmount", FuseOption::Mount(MountOption::Idle)),
            ("default_permissions", FuseOption::Mount(MountOption::Idle)),
            ("max_idle_threads=-1", FuseOption::Mount(MountOption::Idle)),
            ("debug", FuseOption::Debug),
            ("max_threads=4", FuseOption::Threads(4)),
            ("allow_root", FuseOption::Mount(MountOption::AllowRoot)),
        ] {
            assert_eq!(parse(word), Ok(vec![option]), "{word}");
        }
    }

    #[test]
    fn others_are_refused_by_name() {
        for word in ["nonsense", "ro,acl", "umask=022", "max_threads=x", "blkdev"] {
            let refused = parse(word).unwrap_err().to_string();
            let part = word.rsplit([',', '=']).next().unwrap();
            assert!(refused.contains(part), "{word}: {refused}");
        }
    }

    #[test]
    fn commas_may_be_part_of_a_word() {
        let name = MountOption::Source("a,b\\c".to_owned());
        let device = MountOption::Device("d".into());
        let both = [name, device].map(FuseOption::Mount).to_vec();
        assert_eq!(parse(r"fsname=a\,b\\c,device=d"), Ok(both));
    }
}
