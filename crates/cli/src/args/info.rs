//! Which image shall be described?

use super::image::ImageArgs;

/// Describe an image
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Describes an image: what its superblock says, how many files of each kind it holds, how \
        large they are, how well each algorithm compressed them, and which is the oldest Linux that mounts it, \
        with the reasons.",
    after_long_help = "\
Examples:
  lith info image.erofs
  lith info --superblock image.erofs     at once, without looking at the files
  lith info --json image.erofs | jq -r .kernel.oldest"
)]
pub(crate) struct Info {
    #[command(flatten)]
    pub(crate) image: ImageArgs,

    /// Only read the superblock; count no files
    #[arg(long)]
    pub(crate) superblock: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
