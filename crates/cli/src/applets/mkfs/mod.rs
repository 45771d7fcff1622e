//! The applet mkfs.erofs: makes images.

mod android;
mod compression;
mod compressors;
mod request;
mod run;
mod words;

use std::{ffi::OsString, process::ExitCode};

use clap::Command;

use super::program::{end, name_of, parse, program, refuse, version};
use request::Request;
use words::Words;

const ABOUT: &str = "Makes an EROFS image of a directory, a tar or other images";

const EXAMPLES: &str = "\
Examples:
  mkfs.erofs -zlz4hc,12 -C65536 rootfs.erofs rootfs/
  tar c rootfs | mkfs.erofs --tar=f -T0 --all-root rootfs.erofs
  mkfs.erofs --tar=i layer.index layer.tar

SOURCE_DATE_EPOCH in the environment replaces -T, and no file is later than it.";

/// What is known of its command line.
pub(super) fn command() -> Command {
    let version = version("available compressors: lz4, lz4hc, lzma, deflate, libdeflate, zstd\n");
    program::<Words>(Command::new("mkfs.erofs").about(ABOUT).after_help(EXAMPLES).version(version))
}

/// Runs it with the words of its command line, the first of which is its name.
pub(super) fn main(words: &[OsString]) -> ExitCode {
    let name = &name_of(words);
    let asked: Words = match parse(command(), words) {
        Ok(asked) => asked,
        Err(code) => return code,
    };
    match Request::new(asked) {
        Ok(request) => end(words, &run::run(name, &request)),
        Err(problem) => refuse(name, &problem),
    }
}
