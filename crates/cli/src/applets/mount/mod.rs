//! What is mount.erofs asked for?
//!
//! It is the helper that mount(8) calls for EROFS images, so it uses the system calls and never mount(8).

mod options;
mod remount;
mod words;

use std::{ffi::OsString, process::ExitCode};

use clap::Command;

use super::{
    end, version,
    words::{name_of, program, read, refuse},
};
use crate::run;

use words::{Request, Words};

/// What is known of its command line.
pub(super) fn command() -> Command {
    let usage = "mount.erofs [options] SOURCE MOUNTPOINT\n       mount.erofs -u MOUNTPOINT";
    let command = Command::new("mount.erofs").about("Mounts and unmounts EROFS images");
    program::<Words>(command.version(version("")).override_usage(usage))
}

/// Mounts or unmounts what the words name.
pub(super) fn main(words: &[OsString]) -> ExitCode {
    let read = match read::<Words>(command(), words) {
        Ok(read) => read,
        Err(code) => return code,
    };
    match read.request() {
        Ok(Request::Nothing) => ExitCode::SUCCESS,
        Ok(Request::Verb(verb)) => end(words, &run::run(verb)),
        Ok(Request::Change(change)) => end(words, &change.carry_out()),
        Err(problem) => refuse(&name_of(words), &problem),
    }
}
