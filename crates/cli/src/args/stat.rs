//! Defines the arguments of `lith stat`.

use std::ffi::OsString;

use super::common::ImageArgs;

/// Show all attributes of files
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Shows the attributes of files like stat(1), with NID, data layout and extended attributes.",
    after_long_help = "\
Examples:
  lith stat image.erofs /bin/sh
  lith stat -L image.erofs /bin/sh       the target of the link
  lith stat --json image.erofs / | jq .nid"
)]
pub(crate) struct Stat {
    #[command(flatten)]
    pub(crate) image: ImageArgs,

    /// The files
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<OsString>,

    /// Follow symbolic links, within the image
    #[arg(short = 'L', long)]
    pub(crate) dereference: bool,

    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}
