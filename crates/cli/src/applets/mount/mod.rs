//! Runs mount.erofs, the helper that mount(8) calls for EROFS images.
//!
//! For that reason it uses system calls and never mount(8).

mod arguments;
mod options;
mod remount;

use std::{ffi::OsString, process::ExitCode};

use clap::Command;

use super::program::{self, program, version};
use crate::{
    exit::Outcome,
    run::{mount, umount},
};

use arguments::{Arguments, Request};

pub(super) fn command() -> Command {
    let usage = "mount.erofs [options] SOURCE MOUNTPOINT\n       mount.erofs -u MOUNTPOINT";
    let command = Command::new("mount.erofs").about("Mounts and unmounts EROFS images");
    program::<Arguments>(command.version(version("")).override_usage(usage))
}

pub(super) fn main(line: &[OsString]) -> ExitCode {
    program::main(command(), line, Arguments::request, |_, request| run(request))
}

fn run(request: &Request) -> anyhow::Result<Outcome> {
    match request {
        Request::Mount(request) => mount::run(request),
        Request::Unmount(request) => umount::run(request),
        Request::Change(change) => change.apply(),
        Request::Check => Ok(Outcome::Success),
    }
}
