//! What is erofsfuse asked for?
//!
//! It serves an image by FUSE, in the words of libfuse.

mod options;
mod words;

use std::{ffi::OsString, process::ExitCode};

use clap::Command;

use super::{end, version, words::read};
use crate::{args::Verb, run};

pub(super) use words::SUBTYPE;
use words::Words;

/// Serves what the words name.
pub(super) fn main(words: &[OsString]) -> ExitCode {
    let command = Command::new("erofsfuse")
        .version(version(""))
        .about("Serves an EROFS image by FUSE")
        .override_usage("erofsfuse [options] IMAGE MOUNTPOINT");
    match read::<Words>(command, words) {
        Ok(read) => end(words, &run::run(Verb::Mount(read.request()))),
        Err(code) => code,
    }
}
