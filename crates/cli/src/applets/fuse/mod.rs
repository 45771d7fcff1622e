//! What is erofsfuse asked for?
//!
//! It serves an image by FUSE, in the words of libfuse.

mod options;
mod words;

use std::{ffi::OsString, process::ExitCode};

use clap::Command;

use super::{
    end, version,
    words::{program, read},
};
use crate::{args::Verb, run};

pub(super) use words::SUBTYPE;
use words::Words;

/// What is known of its command line.
pub(super) fn command() -> Command {
    let command = Command::new("erofsfuse").about("Serves an EROFS image by FUSE");
    let usage = "erofsfuse [options] IMAGE MOUNTPOINT";
    program::<Words>(command.version(version("")).override_usage(usage))
}

/// Serves what the words name.
pub(super) fn main(words: &[OsString]) -> ExitCode {
    match read::<Words>(command(), words) {
        Ok(read) => end(words, &run::run(Verb::Mount(read.request()))),
        Err(code) => code,
    }
}
