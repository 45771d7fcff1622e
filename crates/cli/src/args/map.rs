//! Defines the arguments of `lith map`.

use std::ffi::OsString;

use super::common::ImageArgs;

/// Show where a file's bytes are stored
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Shows each extent of a file, like `filefrag -v`: its range in the file, its range on the device, \
        and its kind. All numbers are bytes.\n\n\
        Kinds: flat (contiguous blocks), inline (next to the inode), chunk, hole, fragment (in the packed \
        inode), the name of a compression algorithm, and plain (uncompressed, in a compressed file). \
        `partial`: the extent uses only the first part of its pcluster's data. `interlaced`: the data is rotated \
        within its block.",
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
