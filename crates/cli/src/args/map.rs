//! Whose extents are wanted?

use std::ffi::OsString;

use super::image::ImageArgs;

/// Show where a file's bytes are stored
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Shows each extent of a file, as `filefrag -v` would: which of its bytes, where and in how \
        many bytes they are stored, and in what way. All numbers are bytes.\n\n\
        Kinds: flat (a row of blocks), inline (beside the inode), chunk, hole, fragment (in the packed \
        inode), the name of a compression algorithm, and plain (stored as it is in a compressed file). \
        With `partial`, the compressed data holds more than the extent; `interlaced` data is rotated within \
        its block.",
    after_long_help = "\
Examples:
  lith map image.erofs /usr/bin/env
  lith map --json image.erofs /usr/bin/env | jq '.extents | length'"
)]
pub(crate) struct Map {
    #[command(flatten)]
    pub(crate) image: ImageArgs,

    /// The file
    pub(crate) path: OsString,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
