//! Runs fsck.erofs, which checks and extracts images.

mod arguments;
mod check;
mod digest;
mod extract;
mod preserve;
mod ratio;

use std::{ffi::OsString, process::ExitCode};

use clap::Command;
use lith::format::addr::Nid;

use super::program::{self, program, version};
use crate::{exit::Outcome, output::error::tell};
use arguments::Arguments;

const ABOUT: &str = "Checks an EROFS image, or extracts it";

/// The last line of output for a corrupt image, in the wording of erofs-utils.
const UNSOUND: &str = "Found some filesystem corruption";

const EXAMPLES: &str = "\
Examples:
  fsck.erofs rootfs.erofs                          structure only
  fsck.erofs --extract rootfs.erofs                also decode all data
  fsck.erofs --extract=copy rootfs.erofs           extract all files into a directory
  fsck.erofs --extract=etc --path=/etc --overwrite --xattrs rootfs.erofs

Exit codes: 0 no errors; 1 anything else.";

pub(super) fn command() -> Command {
    let version = version("available decompressors: lz4, lz4hc, lzma, deflate, libdeflate, zstd\n");
    program::<Arguments>(
        Command::new("fsck.erofs").about(ABOUT).after_help(EXAMPLES).version(version),
    )
}

pub(super) fn main(line: &[OsString]) -> ExitCode {
    program::main(command(), line, Arguments::checked, run)
}

fn run(name: &str, request: &Arguments) -> anyhow::Result<Outcome> {
    let start = start(request)?;
    if request.digests && !digest::check(request)? {
        tell(format_args!("<E> erofs: {UNSOUND}"));
        return Ok(Outcome::Reported);
    }
    let (is_sound, success, failure) = match request.destination() {
        Some(destination) => {
            let is_whole = extract::run(name, request, destination)?;
            (is_whole, "Extracted filesystem successfully", "Failed to extract filesystem")
        }
        None => (check::run(request, start)?, "No errors found", UNSOUND),
    };
    if !is_sound {
        tell(format_args!("<E> erofs: {failure}"));
        return Ok(Outcome::Reported);
    }
    request.inform(success);
    if request.ratio && request.verbosity > 0 {
        let ratio = ratio::of(&request.image.open_structure(request.no_checksum)?, start);
        let ratio = ratio.map_err(|error| request.image.about(error))?;
        tell(format_args!("<I> erofs: Compression ratio: {ratio}(%)"));
    }
    Ok(Outcome::Success)
}

/// The inode to start at; `None`: the root.
fn start(request: &Arguments) -> anyhow::Result<Option<Nid>> {
    if !request.file.is_given() {
        return Ok(None);
    }
    let image = request.image.open_structure(request.no_checksum)?;
    Ok(Some(request.file.find(&request.image, &image)?.nid))
}
