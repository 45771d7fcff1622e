//! The applet fsck.erofs: checks and extracts images.

mod check;
mod digest;
mod extract;
mod preserve;
mod ratio;
mod words;

use std::{ffi::OsString, process::ExitCode};

use clap::Command;
use lith::format::addr::Nid;

use super::{
    end, version,
    words::{name_of, program, read, refuse},
};
use crate::exit::Outcome;
use words::Words;

const ABOUT: &str = "Checks an EROFS image, or extracts it";

const EXAMPLES: &str = "\
Examples:
  fsck.erofs rootfs.erofs                          structure only
  fsck.erofs --extract rootfs.erofs                decode all data, too
  fsck.erofs --extract=copy rootfs.erofs           copy everything into a directory
  fsck.erofs --extract=etc --path=/etc --overwrite --xattrs rootfs.erofs

Exit codes: 0 all is well; 1 anything else.";

/// What is known of its command line.
pub(super) fn command() -> Command {
    let version = version("available decompressors: lz4, lz4hc, lzma, deflate, libdeflate, zstd\n");
    program::<Words>(Command::new("fsck.erofs").about(ABOUT).after_help(EXAMPLES).version(version))
}

/// Runs it with the words of its command line, the first of which is its name.
pub(super) fn main(words: &[OsString]) -> ExitCode {
    let request: Words = match read(command(), words) {
        Ok(request) => request,
        Err(code) => return code,
    };
    let name = &name_of(words);
    match request.check() {
        Ok(()) => end(words, &run(name, &request)),
        Err(problem) => refuse(name, problem),
    }
}

fn run(name: &str, request: &Words) -> anyhow::Result<Outcome> {
    let start = start(request)?;
    if request.digests && !digest::check(request)? {
        eprintln!("<E> erofs: {}", check::UNSOUND);
        return Ok(Outcome::Told);
    }
    let done = match request.destination() {
        Some(destination) => extract::run(name, request, destination)?,
        None => check::run(request, start)?,
    };
    if done.is_well {
        request.inform(done.verdict);
        if request.ratio && request.verbosity > 0 {
            let ratio = ratio::of(&request.image.open_structure(request.no_checksum)?, start);
            let ratio = ratio.map_err(|error| request.image.about(error))?;
            eprintln!("<I> erofs: Compression ratio: {ratio}(%)");
        }
        return Ok(Outcome::Success);
    }
    eprintln!("<E> erofs: {}", done.verdict);
    Ok(Outcome::Told)
}

/// Where to begin, if that is not the root.
fn start(request: &Words) -> anyhow::Result<Option<Nid>> {
    if !request.file.is_given() {
        return Ok(None);
    }
    let image = request.image.open_structure(request.no_checksum)?;
    Ok(Some(request.file.find(&request.image, &image)?.nid))
}

/// How something ended, in the words that erofs-utils have for it.
struct Done {
    is_well: bool,
    verdict: &'static str,
}
