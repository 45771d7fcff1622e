//! The applet mkfs.erofs: makes images.

mod android;
mod arguments;
mod compression;
mod request;
mod run;

use std::{ffi::OsString, process::ExitCode};

use clap::Command;

use super::program::{self, program, version};
use arguments::Arguments;
use request::Request;

const ABOUT: &str = "Makes an EROFS image of a directory, a tar or other images";

const EXAMPLES: &str = "\
Examples:
  mkfs.erofs -zlz4hc,12 -C65536 rootfs.erofs rootfs/
  tar c rootfs | mkfs.erofs --tar=f -T0 --all-root rootfs.erofs
  mkfs.erofs --tar=i layer.index layer.tar

SOURCE_DATE_EPOCH in the environment replaces -T, and no file is later than it.";

pub(super) fn command() -> Command {
    let version = version("available compressors: lz4, lz4hc, lzma, deflate, libdeflate, zstd\n");
    program::<Arguments>(
        Command::new("mkfs.erofs").about(ABOUT).after_help(EXAMPLES).version(version),
    )
}

pub(super) fn main(line: &[OsString]) -> ExitCode {
    program::main(command(), line, Request::new, run::run)
}
