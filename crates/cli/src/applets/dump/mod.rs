//! Runs dump.erofs, which shows what an image contains.

mod arguments;
mod extents;
mod file;
mod statistics;
mod superblock;

use std::{ffi::OsString, io::Write, process::ExitCode};

use clap::Command;
use lith::reader::Image;
use uuid::Uuid;

use super::program::{self, program, version};
use crate::{
    exit::Outcome,
    output::{self, Stdout},
    run::{cat, subject::Subject},
};
use arguments::Arguments;

const ABOUT: &str = "Shows what an EROFS image contains";

const EXAMPLES: &str = "\
Examples:
  dump.erofs rootfs.erofs
  dump.erofs -s -S --ls --path=/ rootfs.erofs
  dump.erofs -e --path=/usr/bin/env rootfs.erofs
  dump.erofs --cat --path=/etc/os-release rootfs.erofs";

pub(super) fn command() -> Command {
    let version = version("");
    program::<Arguments>(
        Command::new("dump.erofs").about(ABOUT).after_help(EXAMPLES).version(version),
    )
}

pub(super) fn main(line: &[OsString]) -> ExitCode {
    program::main(command(), line, Arguments::checked, |_, request| run(request))
}

fn run(request: &Arguments) -> anyhow::Result<Outcome> {
    let image = request.image.open(true)?;
    let mut output = output::stdout()?;
    if request.blkid_udev {
        write_udev(&image, &mut output)?;
    } else if request.cat {
        cat_file(request, image, &mut output)?;
    } else {
        show(request, &image, &mut output)?;
    }
    output::finish(output)
}

fn show(request: &Arguments, image: &Image, output: &mut Stdout) -> anyhow::Result<()> {
    if request.shows_superblock() {
        superblock::write(image, output)?;
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

/// Prints the attributes of a block device in the form that udev reads.
fn write_udev(image: &Image, output: &mut Stdout) -> anyhow::Result<()> {
    let uuid = Uuid::from_bytes(image.superblock().uuid);
    writeln!(output, "ID_FS_UUID={uuid}\nID_FS_UUID_ENC={uuid}")?;
    writeln!(output, "ID_FS_TYPE=erofs\nID_FS_USAGE=filesystem")?;
    Ok(())
}

fn cat_file(request: &Arguments, image: Image, output: &mut Stdout) -> anyhow::Result<()> {
    let inode = request.file.find(&request.image, &image)?;
    let path = request.file.path.as_ref().map(|path| path.as_encoded_bytes());
    let subject = Subject::new(image, &request.image.image);
    cat::print(&subject, path.unwrap_or_default(), &inode, output)
}
