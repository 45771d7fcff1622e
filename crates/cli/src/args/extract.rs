//! Defines the arguments of `lith extract`.

use std::{ffi::OsString, path::PathBuf};

use lith::export::{Existing, ExtractOptions, Owners};

use super::common::{ImageArgs, WorkersArgs};

/// Extract files of an image
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Extracts all files of an image, or the given paths and everything below them, into a directory, with \
        modes, times, links, extended attributes and, for root, owners and devices. Attributes that can't be set \
        are reported on standard error.\n\n\
        Nothing is written outside of the directory, even from a malicious image.",
    after_long_help = "\
Examples:
  lith extract image.erofs copy
  lith extract image.erofs copy /etc /usr/share/doc
  lith extract --overwrite image.erofs / /etc/os-release"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Extract {
    #[command(flatten)]
    pub(crate) image: ImageArgs,

    /// The directory to extract to; created if needed
    pub(crate) directory: PathBuf,

    /// Paths in the image [default: all]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<OsString>,

    /// Replace existing files
    #[arg(long)]
    overwrite: bool,

    /// Keep owners [default for root]
    #[arg(long, conflicts_with = "no_owner")]
    owner: bool,

    /// The extracting user owns the files [default for other users]
    #[arg(long)]
    no_owner: bool,

    /// Drop extended attributes
    #[arg(long)]
    no_xattrs: bool,

    #[command(flatten)]
    workers: WorkersArgs,

    /// Print neither progress nor attributes that can't be set
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

impl Extract {
    pub(crate) fn options(&self) -> ExtractOptions {
        ExtractOptions::with(|options| {
            options.owners = match (self.owner, self.no_owner) {
                (true, _) => Owners::Keep,
                (false, true) => Owners::Own,
                (false, false) => Owners::Auto,
            };
            options.existing = if self.overwrite { Existing::Overwrite } else { Existing::Refuse };
            (options.xattrs, options.workers) = (!self.no_xattrs, self.workers.count());
        })
    }
}
