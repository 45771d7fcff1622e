//! What shall become a tar, and where?

use std::{ffi::OsString, path::PathBuf};

use super::image::ImageArgs;

/// Turn an image into a tar
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Writes everything in an image, or the given paths and all below them, as a tar (POSIX pax) \
        with all attributes, to standard output or a file.",
    after_long_help = "\
Examples:
  lith tar image.erofs | zstd > image.tar.zst
  lith tar -o etc.tar image.erofs /etc
  lith tar image.erofs | docker import - image"
)]
pub(crate) struct Tar {
    #[command(flatten)]
    pub(crate) image: ImageArgs,

    /// Paths in the image [default: everything]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<OsString>,

    /// The tar to write, replaced once it is complete [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Don't tell what can't be kept
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
