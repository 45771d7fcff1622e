//! The applet dump.erofs: shows what an image holds.

mod extents;
mod file;
mod statistics;
mod superblock;
mod words;

use std::{ffi::OsString, io::Write, process::ExitCode};

use clap::Command;
use lith::reader::Image;
use uuid::Uuid;

use super::{
    end, version,
    words::{name_of, program, read, refuse},
};
use crate::{
    exit::Outcome,
    output::{self, Stdout, error::is_broken_pipe},
    run::{cat, subject::Subject},
};
use words::Words;

const ABOUT: &str = "Shows what an EROFS image holds";

const EXAMPLES: &str = "\
Examples:
  dump.erofs rootfs.erofs
  dump.erofs -s -S --ls --path=/ rootfs.erofs
  dump.erofs -e --path=/usr/bin/env rootfs.erofs
  dump.erofs --cat --path=/etc/os-release rootfs.erofs";

/// What is known of its command line.
pub(super) fn command() -> Command {
    let version = version("");
    program::<Words>(Command::new("dump.erofs").about(ABOUT).after_help(EXAMPLES).version(version))
}

/// Runs it with the words of its command line, the first of which is its name.
pub(super) fn main(words: &[OsString]) -> ExitCode {
    let request: Words = match read(command(), words) {
        Ok(request) => request,
        Err(code) => return code,
    };
    if let Err(problem) = request.check() {
        return refuse(&name_of(words), problem);
    }
    match run(&request) {
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        result => end(words, &result),
    }
}

fn run(request: &Words) -> anyhow::Result<Outcome> {
    let image = request.image.open(true)?;
    let mut output = output::stdout()?;
    if request.blkid_udev {
        write_udev(&image, &mut output)?;
    } else if request.cat {
        cat_file(request, image, &mut output)?;
    } else {
        show(request, &image, &mut output)?;
    }
    output.flush()?;
    Ok(Outcome::Success)
}

fn show(request: &Words, image: &Image, output: &mut Stdout) -> anyhow::Result<()> {
    if request.shows_superblock() {
        write!(output, "{}", superblock::Lines::of(image))?;
    }
    if request.statistics {
        let counted = statistics::Statistics::count(image);
        write!(output, "{}", counted.map_err(|error| request.image.about(error))?)?;
    }
    if request.file.is_given() {
        file::show(request, image, output)?;
    }
    Ok(())
}

/// Prints what udev takes for the attributes of a block device.
fn write_udev(image: &Image, output: &mut Stdout) -> anyhow::Result<()> {
    let uuid = Uuid::from_bytes(image.superblock().uuid);
    writeln!(output, "ID_FS_UUID={uuid}\nID_FS_UUID_ENC={uuid}")?;
    writeln!(output, "ID_FS_TYPE=erofs\nID_FS_USAGE=filesystem")?;
    Ok(())
}

fn cat_file(request: &Words, image: Image, output: &mut Stdout) -> anyhow::Result<()> {
    let inode = request.file.find(&request.image, &image)?;
    let path = request.file.path.as_ref().map(|path| path.as_encoded_bytes());
    let subject = Subject::new(image, &request.image.image);
    cat::print(&subject, path.unwrap_or_default(), &inode, output)
}
