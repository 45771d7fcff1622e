//! Defines the arguments of `lith tar`.

use std::path::PathBuf;

use super::{common::ImageArgs, paths::PathArgs};

/// Convert an image to a tar
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Writes all files of an image, or the given paths and everything below them, as a tar (POSIX pax) with \
        all attributes, to standard output or a file.",
    after_long_help = "\
Examples:
  lith tar image.erofs | zstd > image.tar.zst
  lith tar -o etc.tar image.erofs /etc
  lith tar image.erofs | docker import - image"
)]
pub(crate) struct Tar {
    #[command(flatten)]
    pub(crate) image: ImageArgs,

    #[command(flatten)]
    pub(crate) paths: PathArgs,

    /// The tar, replaced when it is complete [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Print neither progress nor attributes that can't be stored
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
