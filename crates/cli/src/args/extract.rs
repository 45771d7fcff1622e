//! What shall be extracted, where, and how?

use std::{ffi::OsString, num::NonZeroUsize, path::PathBuf};

use lith::export::{Existing, ExtractOptions, Owners};

use super::image::ImageArgs;

/// Copy files out of an image
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Copies everything in an image, or the given paths and all below them, into a directory, with \
        modes, times, links, extended attributes, and, for root, owners and devices. What can't be kept is \
        told on standard error.\n\n\
        Nothing is ever written outside of the directory, whatever the image holds.",
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

    /// The directory to copy into; made if it is not there
    pub(crate) directory: PathBuf,

    /// Paths in the image [default: everything]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<OsString>,

    /// Replace files that are there already
    #[arg(long)]
    overwrite: bool,

    /// Give files the owners they have in the image [default for root]
    #[arg(long, conflicts_with = "no_owner")]
    owner: bool,

    /// Files become those of whoever extracts them [default for all but root]
    #[arg(long)]
    no_owner: bool,

    /// Leave extended attributes out
    #[arg(long)]
    no_xattrs: bool,

    /// Threads that write files [default: one for each core]
    #[arg(long, value_name = "N")]
    workers: Option<NonZeroUsize>,

    /// Don't tell what can't be kept
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

impl Extract {
    /// How to extract.
    pub(crate) fn options(&self) -> ExtractOptions {
        ExtractOptions::with(|options| {
            options.owners = match (self.owner, self.no_owner) {
                (true, _) => Owners::Keep,
                (false, true) => Owners::Own,
                (false, false) => Owners::Auto,
            };
            options.existing = if self.overwrite { Existing::Overwrite } else { Existing::Refuse };
            (options.xattrs, options.workers) = (!self.no_xattrs, super::workers(self.workers));
        })
    }
}
