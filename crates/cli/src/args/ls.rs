//! Defines the arguments of `lith ls`.

use std::ffi::OsString;

use super::common::ImageArgs;

/// List a directory of an image
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Lists a directory of an image, or a single file.\n\n\
        Names are sorted by their bytes. Unprintable bytes are shown as \\xHH and backslashes as \\\\; -0 prints \
        names unchanged. Times are UTC.",
    after_long_help = "\
Examples:
  lith ls image.erofs                    names in the root
  lith ls -l image.erofs /etc            with modes, owners, sizes and times (UTC)
  lith ls -R0 image.erofs | xargs -0n1   all paths, for other programs
  lith ls -R --json image.erofs | jq -r 'select(.size > 1000000).path'"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Ls {
    #[command(flatten)]
    pub(crate) image: ImageArgs,

    /// The directory or file
    #[arg(default_value = "/")]
    pub(crate) path: OsString,

    /// Show mode, links, owner, group, size and time of each file
    #[arg(short, long, conflicts_with_all = ["json", "null"])]
    pub(crate) long: bool,

    /// List subdirectories recursively, with paths
    #[arg(short = 'R', long)]
    pub(crate) recursive: bool,

    /// Print names unchanged, each followed by a NUL
    #[arg(short = '0', long, conflicts_with = "json")]
    pub(crate) null: bool,

    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}
