//! Runs mount.erofs, the helper that mount(8) calls for EROFS images.
//!
//! For that reason it uses system calls and never mount(8).

mod arguments;
mod options;
mod remount;

use std::{ffi::OsString, process::ExitCode};

use clap::Command;

use super::program::{end, name_of, parse, program, refuse, version};
use crate::{
    exit::Outcome,
    run::{mount, umount},
};

use arguments::{Arguments, Request};

/// The definition of its command line.
pub(super) fn command() -> Command {
    let usage = "mount.erofs [options] SOURCE MOUNTPOINT\n       mount.erofs -u MOUNTPOINT";
    let command = Command::new("mount.erofs").about("Mounts and unmounts EROFS images");
    program::<Arguments>(command.version(version("")).override_usage(usage))
}

/// Mounts or unmounts as a command line requests, whose first argument is the program's name.
pub(super) fn main(line: &[OsString]) -> ExitCode {
    let arguments = match parse::<Arguments>(command(), line) {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    match arguments.request() {
        Ok(request) => end(line, &run(&request)),
        Err(problem) => refuse(&name_of(line), &problem),
    }
}

fn run(request: &Request) -> anyhow::Result<Outcome> {
    match request {
        Request::Mount(request) => mount::run(request),
        Request::Unmount(request) => umount::run(request),
        Request::Change(change) => change.apply(),
        Request::Check => Ok(Outcome::Success),
    }
}
