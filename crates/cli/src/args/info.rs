//! Which image shall be described?

use super::image::ImageArgs;

/// Describe an image
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Describes an image: what its superblock says, how many files of each kind it holds, how \
        large they are, how well each algorithm compressed them, and which is the oldest Linux that mounts it, \
        with the reasons. With --all it prints what `lith report` shows: what takes how much, by folder, by type of \
        file and in the image, the largest files, and what is stored once instead of several times.",
    after_long_help = "\
Examples:
  lith info image.erofs
  lith info --superblock image.erofs     at once, without looking at the files
  lith info --all --presets image.erofs  where the bytes go, and what other presets would save
  lith info --json image.erofs | jq -r .kernel.oldest"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub(crate) struct Info {
    #[command(flatten)]
    pub(crate) image: ImageArgs,

    /// Only read the superblock; count no files
    #[arg(long)]
    pub(crate) superblock: bool,

    /// Tell all that `lith report` shows but what takes long
    #[arg(short, long, conflicts_with = "superblock")]
    pub(crate) all: bool,

    /// With --all, look for equal files that are stored several times: reads all files of equal sizes
    #[arg(long, requires = "all")]
    pub(crate) equal_files: bool,

    /// Tell how large the image would be with each preset, by building a sample of it; takes some seconds
    #[arg(long, conflicts_with = "superblock")]
    pub(crate) presets: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
