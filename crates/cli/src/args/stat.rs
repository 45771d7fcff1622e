//! Whose attributes are wanted?

use std::ffi::OsString;

use super::image::ImageArgs;

/// Show all that an image knows of a file
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Shows the attributes of a file as stat(1) does, with its NID, the layout of its data, and \
        its extended attributes.",
    after_long_help = "\
Examples:
  lith stat image.erofs /bin/sh
  lith stat -L image.erofs /bin/sh       what the link leads to
  lith stat --json image.erofs / | jq .nid"
)]
pub(crate) struct Stat {
    #[command(flatten)]
    pub(crate) image: ImageArgs,

    /// The files
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<OsString>,

    /// Follow symbolic links, inside the image
    #[arg(short = 'L', long)]
    pub(crate) dereference: bool,

    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}
