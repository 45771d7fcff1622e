//! Defines the arguments of `lith dump`.

use super::common::{self, ImageArgs, SalvageArgs};

/// Print a whole tree as text
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Prints a line for each path of an image of EROFS or SquashFS, tar or directory, with all attributes and the SHA-256 of \
        the content. Order and form depend on the tree only: equal trees have equal dumps.\n\n\
        Fields: path type mode uid gid mtime.sec mtime.nsec nlink size rdev sha256 target xattrs first-path.",
    after_long_help = "\
Examples:
  lith dump image.erofs > image.txt
  diff <(lith dump old.erofs) <(lith dump new.erofs)
  lith dump rootfs.tar.gz | sha256sum",
    mut_arg("image", common::any_tree)
)]
pub(crate) struct Dump {
    #[command(flatten)]
    pub(crate) source: ImageArgs,

    #[command(flatten)]
    pub(crate) salvage: SalvageArgs,

    /// Print a JSON object per line: docs/json.md
    #[arg(long)]
    pub(crate) json: bool,
}
