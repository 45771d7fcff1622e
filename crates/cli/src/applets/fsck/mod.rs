//! Runs fsck.erofs, which checks and extracts images.

mod arguments;
mod check;
mod digest;
mod extract;
mod preserve;
mod ratio;
mod verdict;

use std::{ffi::OsString, process::ExitCode};

use clap::Command;
use lith::format::addr::Nid;

use super::program::{end, name_of, parse, program, refuse, version};
use crate::exit::Outcome;
use arguments::Arguments;

const ABOUT: &str = "Checks an EROFS image, or extracts it";

const EXAMPLES: &str = "\
Examples:
  fsck.erofs rootfs.erofs                          structure only
  fsck.erofs --extract rootfs.erofs                also decode all data
  fsck.erofs --extract=copy rootfs.erofs           extract all files into a directory
  fsck.erofs --extract=etc --path=/etc --overwrite --xattrs rootfs.erofs

Exit codes: 0 no errors; 1 anything else.";

/// The definition of its command line.
pub(super) fn command() -> Command {
    let version = version("available decompressors: lz4, lz4hc, lzma, deflate, libdeflate, zstd\n");
    program::<Arguments>(
        Command::new("fsck.erofs").about(ABOUT).after_help(EXAMPLES).version(version),
    )
}

/// Runs it with a command line whose first argument is its name.
pub(super) fn main(line: &[OsString]) -> ExitCode {
    let request: Arguments = match parse(command(), line) {
        Ok(request) => request,
        Err(code) => return code,
    };
    let name = &name_of(line);
    match request.check() {
        Ok(()) => end(line, &run(name, &request)),
        Err(problem) => refuse(name, problem),
    }
}

fn run(name: &str, request: &Arguments) -> anyhow::Result<Outcome> {
    let start = start(request)?;
    if request.digests && !digest::check(request)? {
        eprintln!("<E> erofs: {}", check::UNSOUND);
        return Ok(Outcome::Reported);
    }
    let verdict = match request.destination() {
        Some(destination) => extract::run(name, request, destination)?,
        None => check::run(request, start)?,
    };
    if verdict.is_sound {
        request.inform(verdict.text);
        if request.ratio && request.verbosity > 0 {
            let ratio = ratio::of(&request.image.open_structure(request.no_checksum)?, start);
            let ratio = ratio.map_err(|error| request.image.about(error))?;
            eprintln!("<I> erofs: Compression ratio: {ratio}(%)");
        }
        return Ok(Outcome::Success);
    }
    eprintln!("<E> erofs: {}", verdict.text);
    Ok(Outcome::Reported)
}

/// The inode to start at; `None`: the root.
fn start(request: &Arguments) -> anyhow::Result<Option<Nid>> {
    if !request.file.is_given() {
        return Ok(None);
    }
    let image = request.image.open_structure(request.no_checksum)?;
    Ok(Some(request.file.find(&request.image, &image)?.nid))
}
