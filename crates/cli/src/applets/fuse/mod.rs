//! Runs erofsfuse, which serves an image by FUSE and has the options of libfuse.

mod arguments;
mod options;

use std::{ffi::OsString, process::ExitCode};

use clap::Command;

use super::program::{end, parse, program, version};
use crate::run::mount;

use arguments::Arguments;
pub(super) use arguments::SUBTYPE;

/// The definition of its command line.
pub(super) fn command() -> Command {
    let command = Command::new("erofsfuse").about("Serves an EROFS image by FUSE");
    let usage = "erofsfuse [options] IMAGE MOUNTPOINT";
    program::<Arguments>(command.version(version("")).override_usage(usage))
}

/// Serves an image as a command line requests, whose first argument is the program's name.
pub(super) fn main(line: &[OsString]) -> ExitCode {
    match parse::<Arguments>(command(), line) {
        Ok(arguments) => end(line, &mount::run(&arguments.request())),
        Err(code) => code,
    }
}
