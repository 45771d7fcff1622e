//! Which program is this, by the name that it was called by?
//!
//! Scripts call the programs of erofs-utils by names, options and lines of output that are an interface by now. Each
//! applet has that interface; behind it, its words become requests like those of verbs, which the same code carries
//! out.

mod dump;
mod form;
mod fsck;
mod fuse;
mod image;
mod mkfs;
mod mount;
mod words;

use std::{
    ffi::{OsStr, OsString},
    path::Path,
    process::ExitCode,
};

use clap::Command;

use crate::{
    exit::{Convention, Outcome},
    output::error,
};

/// A program of erofs-utils that this one stands in for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Applet {
    /// Makes images.
    Mkfs,
    /// Checks and extracts images.
    Fsck,
    /// Shows what images hold.
    Dump,
    /// Serves images by FUSE.
    Fuse,
    /// Mounts images for mount(8).
    Mount,
}

/// The release of erofs-utils whose options the applets have.
const RELEASE: &str = "1.9.4";

impl Applet {
    /// All names, each with its applet.
    pub(crate) const NAMES: [(&str, Self); 6] = [
        ("mkfs.erofs", Self::Mkfs),
        ("fsck.erofs", Self::Fsck),
        ("dump.erofs", Self::Dump),
        ("erofsfuse", Self::Fuse),
        ("fuse.erofs", Self::Fuse),
        ("mount.erofs", Self::Mount),
    ];

    /// The applet that a program's path or a word names.
    pub(crate) fn named(program: &OsStr) -> Option<Self> {
        let name = Path::new(program).file_name()?;
        Self::NAMES.iter().find(|(known, _)| name == *known).map(|(_, applet)| *applet)
    }

    /// All that is known of its command line, for manual pages.
    pub(crate) fn command(self) -> Command {
        match self {
            Self::Mkfs => mkfs::command(),
            Self::Fsck => fsck::command(),
            Self::Dump => dump::command(),
            Self::Fuse => fuse::command(),
            Self::Mount => mount::command(),
        }
    }

    /// Runs it with the words of its command line, the first of which is its name.
    pub(crate) fn run(self, words: &[OsString]) -> ExitCode {
        match self {
            Self::Mkfs => mkfs::main(words),
            Self::Fsck => fsck::main(words),
            Self::Dump => dump::main(words),
            Self::Fuse => fuse::main(words),
            Self::Mount => mount::main(words),
        }
    }
}

/// The exit code of what an applet did, after it is told what went wrong, if anything did.
fn end(words: &[OsString], result: &anyhow::Result<Outcome>) -> ExitCode {
    if let Err(error) = result {
        error::tell(&words::name_of(words), error);
    }
    Convention::Usual.code(result)
}

/// What a program of this name says of its version, behind the name: the release that it stands in for, then `more`,
/// then what it is.
fn version(more: &str) -> String {
    format!("(erofs-utils) {RELEASE}\n{more}lith {}", env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_known_by_the_last_part_of_their_paths() {
        for (name, applet) in Applet::NAMES {
            for program in [name.to_owned(), format!("/usr/bin/{name}"), format!("./{name}")] {
                assert_eq!(Applet::named(program.as_ref()), Some(applet), "{program}");
            }
        }
        for other in ["lith", "/usr/bin/lith", "mkfs", "mkfs.erofs.old", "", "/"] {
            assert_eq!(Applet::named(other.as_ref()), None, "{other}");
        }
    }
}
