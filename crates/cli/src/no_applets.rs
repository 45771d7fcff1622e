//! There are no applets on systems other than Linux: programs of erofs-utils are called by scripts that run there.

use std::{
    ffi::{OsStr, OsString},
    iter,
    process::ExitCode,
};

use clap::Command;

/// A program of erofs-utils that this one replaces.
pub(crate) struct Applet {
    /// Runs it with a command line whose first argument is its name.
    pub(crate) main: fn(&[OsString]) -> ExitCode,
}

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    iter::empty()
}

pub(crate) fn commands() -> impl Iterator<Item = Command> {
    iter::empty()
}

pub(crate) fn named(_program: &OsStr) -> Option<&'static Applet> {
    None
}
