//! Which program is this, by the name under which it was called? Defines the applets and dispatches to them.
//!
//! Scripts call the programs of erofs-utils by names, options and lines of output that are an interface by now. Each
//! applet has that interface, and turns its arguments into requests like those of verbs, which the same code executes.

mod display;
mod dump;
mod fsck;
mod fuse;
mod image;
mod mkfs;
mod mount;
mod program;

use std::{
    ffi::{OsStr, OsString},
    path::Path,
    process::ExitCode,
};

use clap::Command;

/// A program of erofs-utils that this one replaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Applet {
    /// Makes images.
    Mkfs,
    /// Checks and extracts images.
    Fsck,
    /// Shows what images contain.
    Dump,
    /// Serves images by FUSE.
    Fuse,
    /// Mounts images for mount(8).
    Mount,
}

/// All names, each with its applet.
const NAMES: [(&str, Applet); 6] = [
    ("mkfs.erofs", Applet::Mkfs),
    ("fsck.erofs", Applet::Fsck),
    ("dump.erofs", Applet::Dump),
    ("erofsfuse", Applet::Fuse),
    ("fuse.erofs", Applet::Fuse),
    ("mount.erofs", Applet::Mount),
];

/// All names of applets; one of them is an alias.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|(name, _)| *name)
}

/// The definition of each applet's command line, for manual pages.
pub(crate) fn commands() -> impl Iterator<Item = Command> {
    NAMES
        .iter()
        .map(|(name, applet)| (name, applet.command()))
        // An alias has no page of its own.
        .filter(|(name, command)| command.get_name() == **name)
        .map(|(_, command)| command)
}

impl Applet {
    /// The applet that the path or name of a program denotes.
    pub(crate) fn named(program: &OsStr) -> Option<Self> {
        let name = Path::new(program).file_name()?;
        NAMES.iter().find(|(known, _)| name == *known).map(|(_, applet)| *applet)
    }

    fn command(self) -> Command {
        match self {
            Self::Mkfs => mkfs::command(),
            Self::Fsck => fsck::command(),
            Self::Dump => dump::command(),
            Self::Fuse => fuse::command(),
            Self::Mount => mount::command(),
        }
    }

    /// Runs it with a command line whose first argument is its name.
    pub(crate) fn run(self, line: &[OsString]) -> ExitCode {
        match self {
            Self::Mkfs => mkfs::main(line),
            Self::Fsck => fsck::main(line),
            Self::Dump => dump::main(line),
            Self::Fuse => fuse::main(line),
            Self::Mount => mount::main(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn applets_are_found_by_the_last_component_of_a_path() {
        for (name, applet) in NAMES {
            for program in [name.to_owned(), format!("/usr/bin/{name}"), format!("./{name}")] {
                assert_eq!(Applet::named(program.as_ref()), Some(applet), "{program}");
            }
        }
        for other in ["lith", "/usr/bin/lith", "mkfs", "mkfs.erofs.old", "", "/"] {
            assert_eq!(Applet::named(other.as_ref()), None, "{other}");
        }
    }

    #[test]
    fn every_applet_has_one_command() {
        let names: Vec<_> = commands().map(|command| command.get_name().to_owned()).collect();
        assert_eq!(names, ["mkfs.erofs", "fsck.erofs", "dump.erofs", "erofsfuse", "mount.erofs"]);
        commands().for_each(Command::debug_assert);
    }
}
