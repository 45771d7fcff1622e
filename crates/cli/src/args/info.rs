//! Defines the arguments of `lith info`.

use super::common::ImageArgs;

/// Describe an image
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Describes an image: its superblock, the number of files by type, their size and compression ratio by \
        algorithm, and the oldest Linux that mounts it, with the reasons. With --all it prints what `lith report` \
        shows: space by folder and by file type, the layout of the image, the largest files, and deduplicated data.",
    after_long_help = "\
Examples:
  lith info image.erofs
  lith info --superblock image.erofs     the superblock only: fast
  lith info --all --presets image.erofs  all, with sizes for other presets
  lith info --provenance image.erofs     how it was made, if it records that
  lith info --json image.erofs | jq -r .kernel.oldest"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Info {
    #[command(flatten)]
    pub(crate) image: ImageArgs,

    /// Read only the superblock
    #[arg(long)]
    pub(crate) superblock: bool,

    /// Print all that `lith report` shows, except --equal-files and --presets
    #[arg(short, long, conflicts_with = "superblock")]
    pub(crate) all: bool,

    /// With --all, find equal files that are stored several times; reads all files of equal size
    #[arg(long, requires = "all")]
    pub(crate) equal_files: bool,

    /// Estimate the size of the image with each preset by building a sample; takes several seconds
    #[arg(long, conflicts_with = "superblock")]
    pub(crate) presets: bool,

    /// Print only by what, with which options and of what it was made, if it records that
    #[arg(long, conflicts_with_all = ["superblock", "all", "presets"])]
    pub(crate) provenance: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
