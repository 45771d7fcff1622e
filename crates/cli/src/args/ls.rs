//! Defines the arguments of `lith ls`.

use clap::ArgAction;

use super::{
    common::{self, ImageArgs, ObjectsArgs},
    paths::PathArgs,
};

/// List directories of an image
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Lists directories of an image, by default the root, and single files.\n\n\
        Names are sorted by their bytes. Unprintable bytes are shown as \\xHH and backslashes as \\\\; -0 prints \
        names unchanged. Times are UTC without --local.",
    after_long_help = "\
Examples:
  lith ls image.erofs                    names in the root
  lith ls -lh image.erofs /etc           with modes, owners, sizes and times (UTC)
  lith ls -ld image.erofs '/usr/lib/*.d' directories themselves
  lith ls -R0 image.erofs | xargs -0n1   all paths, for other programs
  lith ls -R --json image.erofs | jq -r 'select(.size > 1000000).path'
  lith ls -lR rootfs.tar.zst             also tars, cpio archives and SquashFS images",
    mut_arg("image", common::any_file),
    mut_arg("paths", common::last),
    disable_help_flag = true
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Ls {
    #[command(flatten)]
    pub(crate) image: ImageArgs,

    #[command(flatten)]
    pub(crate) objects: ObjectsArgs,

    #[command(flatten)]
    pub(crate) paths: PathArgs,

    /// Show mode, links, owner, group, size and time of each file
    #[arg(short, long, conflicts_with_all = ["json", "null"])]
    pub(crate) long: bool,

    /// With -l, show sizes as 4.0K, 1.2M
    #[arg(short = 'h', long)]
    pub(crate) human_readable: bool,

    /// List directories themselves, not their content
    #[arg(short, long, conflicts_with = "recursive")]
    pub(crate) directory: bool,

    /// List subdirectories recursively, with paths
    #[arg(short = 'R', long)]
    pub(crate) recursive: bool,

    /// With -l, show owners and groups by the names that the image's /etc/passwd and /etc/group give them
    #[arg(long)]
    pub(crate) names: bool,

    /// With -l, show times in the local time zone
    #[arg(long)]
    pub(crate) local: bool,

    /// No effect, as all names are listed, one per line, with numeric owners; accepted because other programs have it
    #[arg(short = 'a', visible_short_aliases = ['A', '1', 'n'], action = ArgAction::Count)]
    _as_always: u8,

    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,

    /// Print help
    #[arg(long, action = ArgAction::Help)]
    _help: Option<bool>,
}
