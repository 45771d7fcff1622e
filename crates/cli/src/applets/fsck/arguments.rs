//! Defines the arguments of fsck.erofs.

use std::path::{Path, PathBuf};

use clap::Args;

use super::preserve::Preserve;
use crate::{
    applets::image::{FileArguments, ImageArguments},
    output::error::tell,
};

/// The image, and what is done with it.
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) image: ImageArguments,

    /// Amount of output: 0 errors only, 2 also warnings, 3 also success
    #[arg(short = 'd', value_name = "0-9", value_parser = clap::value_parser!(u8).range(0..=9), default_value = "2")]
    pub(super) verbosity: u8,

    /// Print the compression ratio, in percent
    #[arg(short = 'p')]
    pub(super) ratio: bool,

    /// Decode all data; with DIR extract all files into it
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true)]
    #[expect(clippy::option_option, reason = "the option is given or not, and has a value or not")]
    extract: Option<Option<PathBuf>>,

    #[command(flatten)]
    pub(super) file: FileArguments,

    /// Accept a wrong checksum of the superblock
    #[arg(long = "no-sbcrc")]
    pub(super) no_checksum: bool,

    /// No effect; accepted because other fsck programs have it
    #[arg(short = 'a', visible_short_aliases = ['A', 'y'])]
    _anything: bool,

    #[command(flatten)]
    pub(super) extraction: ExtractionArguments,

    /// Compare files with the digests in their extended attributes
    #[arg(long = "xattr-inode-digest")]
    pub(super) digests: bool,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Extraction")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct ExtractionArguments {
    /// Allow extraction to /
    #[arg(long)]
    force: bool,

    /// Replace existing files
    #[arg(long)]
    pub(super) overwrite: bool,

    /// Keep extended attributes
    #[arg(long, overrides_with = "no_xattrs")]
    pub(super) xattrs: bool,

    /// Drop extended attributes [default]
    #[arg(long, overrides_with = "xattrs")]
    no_xattrs: bool,

    #[command(flatten)]
    pub(super) preserve: Preserve,
}

impl Arguments {
    /// Refuses options that contradict each other.
    pub(super) fn checked(self) -> Result<Self, String> {
        let ExtractionArguments { force, overwrite, preserve, .. } = &self.extraction;
        let (option, needed) = match self.destination() {
            Some(path) if !force && path == Path::new("/") => ("--extract=/", "--force"),
            None if *force => ("--force", "--extract=DIR"),
            None if *overwrite => ("--overwrite", "--extract=DIR"),
            None if preserve.is_given() => ("--[no-]preserve[-owner/-perms]", "--extract=DIR"),
            Some(_) | None => return Ok(self),
        };
        Err(format!("{option} must be used together with {needed}"))
    }

    /// The directory to extract to; `None`: check only.
    pub(super) fn destination(&self) -> Option<&Path> {
        self.extract.as_ref()?.as_deref()
    }

    pub(super) const fn decodes(&self) -> bool {
        self.extract.is_some() || self.digests
    }

    pub(super) const fn warns(&self) -> bool {
        self.verbosity >= 2
    }

    /// Prints a message at verbosity 3 or above.
    pub(super) fn inform(&self, message: &str) {
        if self.verbosity >= 3 {
            tell(format_args!("<I> erofs: {message}"));
        }
    }
}
