//! Defines the arguments of `lith stat`.

use super::{common::ImageArgs, paths::PathArgs};

/// Show all attributes of files
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Shows the attributes of files like stat(1), with NID, data layout and extended attributes.",
    after_long_help = "\
Examples:
  lith stat image.erofs /bin/sh
  lith stat -L image.erofs /bin/sh       the target of the link
  lith stat --json image.erofs / | jq .nid",
    mut_arg("paths", |paths| paths.required_unless_present("files_from"))
)]
pub(crate) struct Stat {
    #[command(flatten)]
    pub(crate) image: ImageArgs,

    #[command(flatten)]
    pub(crate) paths: PathArgs,

    /// Follow symbolic links, within the image
    #[arg(short = 'L', long)]
    pub(crate) dereference: bool,

    /// Show times in the local time zone
    #[arg(long)]
    pub(crate) local: bool,

    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}
