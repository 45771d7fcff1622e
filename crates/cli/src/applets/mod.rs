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
pub(crate) struct Applet {
    name: &'static str,
    /// Defines its command line.
    command: fn() -> Command,
    /// Runs it with a command line whose first argument is its name.
    pub(crate) main: fn(&[OsString]) -> ExitCode,
}

/// All applets; fuse.erofs is an alias of erofsfuse.
const APPLETS: [Applet; 6] = [
    Applet { name: "mkfs.erofs", command: mkfs::command, main: mkfs::main },
    Applet { name: "fsck.erofs", command: fsck::command, main: fsck::main },
    Applet { name: "dump.erofs", command: dump::command, main: dump::main },
    Applet { name: "erofsfuse", command: fuse::command, main: fuse::main },
    Applet { name: "fuse.erofs", command: fuse::command, main: fuse::main },
    Applet { name: "mount.erofs", command: mount::command, main: mount::main },
];

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    APPLETS.iter().map(|applet| applet.name)
}

/// The definition of each applet's command line, for manual pages. An alias has no page of its own.
pub(crate) fn commands() -> impl Iterator<Item = Command> {
    let all = APPLETS.iter().map(|applet| (applet.name, (applet.command)()));
    all.filter(|(name, command)| command.get_name() == *name).map(|(_, command)| command)
}

/// The applet that the path or name of a program denotes.
pub(crate) fn named(program: &OsStr) -> Option<&'static Applet> {
    let name = Path::new(program).file_name()?;
    APPLETS.iter().find(|applet| applet.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn applets_are_found_by_the_last_component_of_a_path() {
        for name in names() {
            for program in [name.to_owned(), format!("/usr/bin/{name}"), format!("./{name}")] {
                let found = named(program.as_ref()).map(|applet| applet.name);
                assert_eq!(found, Some(name), "{program}");
            }
        }
        for other in ["lith", "/usr/bin/lith", "mkfs", "mkfs.erofs.old", "", "/"] {
            assert!(named(other.as_ref()).is_none(), "{other}");
        }
    }

    #[test]
    fn every_applet_has_one_command() {
        let names: Vec<_> = commands().map(|command| command.get_name().to_owned()).collect();
        assert_eq!(names, ["mkfs.erofs", "fsck.erofs", "dump.erofs", "erofsfuse", "mount.erofs"]);
        commands().for_each(Command::debug_assert);
    }
}
