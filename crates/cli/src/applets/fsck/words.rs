//! Which words does fsck.erofs have?

use std::path::{Path, PathBuf};

use clap::Args;

use super::preserve::Preserve;
use crate::applets::image::{FileWords, ImageWords};

/// What shall be done with which image.
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct Words {
    #[command(flatten)]
    pub(super) image: ImageWords,

    /// How much is printed: 0 nothing but errors, 2 warnings, 3 that all is well
    #[arg(short = 'd', value_name = "0-9", value_parser = clap::value_parser!(u8).range(0..=9), default_value = "2")]
    pub(super) verbosity: u8,

    /// Print how large all files are stored, in percent
    #[arg(short = 'p')]
    pub(super) ratio: bool,

    /// Decode all data; with DIR copy everything into it
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true)]
    #[expect(clippy::option_option, reason = "the option is given or not, and has a value or not")]
    extract: Option<Option<PathBuf>>,

    #[command(flatten)]
    pub(super) file: FileWords,

    /// Accept a wrong checksum of the superblock
    #[arg(long = "no-sbcrc")]
    pub(super) no_checksum: bool,

    /// Nothing: for those who call every fsck with it
    #[arg(short = 'a', visible_short_aliases = ['A', 'y'])]
    _anything: bool,

    #[command(flatten)]
    pub(super) extraction: ExtractionWords,

    /// Compare files with the digests that extended attributes hold
    #[arg(long = "xattr-inode-digest")]
    pub(super) digests: bool,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Extraction")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct ExtractionWords {
    /// Extract to /, too
    #[arg(long)]
    force: bool,

    /// Replace files that are there already
    #[arg(long)]
    pub(super) overwrite: bool,

    /// Keep extended attributes
    #[arg(long, overrides_with = "no_xattrs")]
    pub(super) xattrs: bool,

    /// Leave extended attributes out [default]
    #[arg(long, overrides_with = "xattrs")]
    no_xattrs: bool,

    #[command(flatten)]
    pub(super) preserve: Preserve,
}

impl Words {
    /// Whether the words go together.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        let ExtractionWords { force, overwrite, preserve, .. } = &self.extraction;
        match self.destination() {
            Some(path) if !force && path == Path::new("/") => {
                Err("--extract=/ must be used together with --force")
            }
            None if *force => Err("--force must be used together with --extract=DIR"),
            None if *overwrite => Err("--overwrite must be used together with --extract=DIR"),
            None if preserve.is_given() => {
                Err("--[no-]preserve[-owner/-perms] must be used together with --extract=DIR")
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Where files are extracted to, if they are.
    pub(super) fn destination(&self) -> Option<&Path> {
        self.extract.as_ref()?.as_deref()
    }

    /// Whether all data is decoded.
    pub(super) const fn decodes(&self) -> bool {
        self.extract.is_some() || self.digests
    }

    /// Whether warnings are told.
    pub(super) const fn warns(&self) -> bool {
        self.verbosity >= 2
    }

    /// Tells what only those want to know who ask for more.
    pub(super) fn inform(&self, what: &str) {
        if self.verbosity >= 3 {
            eprintln!("<I> erofs: {what}");
        }
    }
}
