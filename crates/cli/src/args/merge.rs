//! Defines the arguments of `lith merge`.

use std::path::PathBuf;

use super::{
    common::{DeviceArgs, WorkersArgs},
    value,
};

/// Merge images as layers
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Makes an image of several images, as overlayfs shows them: names of a later one hide those of the images \
        before it, directories are merged unless they are opaque, and whiteouts stay, for layers below. The new image \
        refers to the layers as its bases (see `lith build --base`), or gets copies of what they hold; nothing is \
        compressed again but ends of files that are stored beside inodes. Of layers that are referred to only metadata is \
        read, so the new image knows them by UUID, length and beginning; --digests reads all of them.",
    after_long_help = "\
Examples:
  lith merge base.erofs app.erofs -o merged.erofs
  lith merge --copy layer1.erofs layer2.erofs layer3.erofs -o whole.erofs"
)]
pub(crate) struct Merge {
    /// The images, the lowest first
    #[arg(required = true, num_args = 2.., value_name = "IMAGE")]
    pub(crate) layers: Vec<PathBuf>,

    /// The image to make
    #[arg(short, long, value_name = "FILE", value_parser = value::place())]
    pub(crate) output: PathBuf,

    /// Copy the content of the layers as it is; the new image needs none of them
    #[arg(long)]
    pub(crate) copy: bool,

    /// Record the SHA-256 of all bytes of each layer, with which `lith check` compares them
    #[arg(long, conflicts_with = "copy")]
    pub(crate) digests: bool,

    #[command(flatten)]
    pub(crate) devices: DeviceArgs,

    #[command(flatten)]
    pub(crate) workers: WorkersArgs,

    /// Print what was made as JSON: docs/json.md
    #[arg(long)]
    pub(crate) json: bool,
}
