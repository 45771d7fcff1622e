//! Defines the arguments of `lith extract`.

use std::path::PathBuf;

use lith::export::{Existing, ExtractOptions, Owners};

use super::{
    common::{self, ImageArgs, ObjectsArgs, SalvageArgs, WorkersArgs},
    paths::PathArgs,
    value,
};

/// Extract files of an image
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Extracts all files of an image, or the given paths and everything below them, into a directory, with \
        modes, times, links, extended attributes and, for root, owners and devices. Attributes that can't be set \
        are reported on standard error.\n\n\
        Nothing is written outside of the directory, even from a malicious image.",
    after_long_help = "\
Examples:
  lith extract image.erofs               all files, into the directory `image`
  lith extract -C copy image.erofs
  lith extract -C copy image.erofs /etc '/usr/share/doc/**/copyright'
  lith extract -C / --overwrite image.erofs /etc/os-release
  lith extract -C copy -0 -T names image.erofs
  lith extract -C rest --keep-going damaged.erofs
  lith extract -C copy image.squashfs",
    mut_arg("image", common::any_file),
    mut_arg("paths", common::last)
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Extract {
    #[command(flatten)]
    pub(crate) image: ImageArgs,

    #[command(flatten)]
    pub(crate) objects: ObjectsArgs,

    #[command(flatten)]
    pub(crate) paths: PathArgs,

    /// The directory to extract to, created if needed [default: the image's name without suffix, in the current directory]
    #[arg(short = 'C', long, visible_short_alias = 'd', value_name = "DIR", value_parser = value::place())]
    pub(crate) directory: Option<PathBuf>,

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

    /// First compare the content of all files with the digests that their attributes record (see `lith build --digests`), and
    /// extract nothing if one is wrong
    #[arg(long, conflicts_with = "keep_going")]
    pub(crate) digests: bool,

    #[command(flatten)]
    pub(crate) salvage: SalvageArgs,

    /// Print what was made as JSON: docs/json.md
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) workers: WorkersArgs,
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
