//! Defines the arguments of `lith flatten`.

use std::path::PathBuf;

use super::{
    common::{ImageArgs, WorkersArgs},
    value,
};

/// Make one image of a patch and its bases
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Makes an image that needs no other one, of a patch and its bases (see `lith build --base`). Compressed \
        data is copied as it is, not compressed again; only ends of files that are stored beside inodes are. The image is \
        read back and compared before it replaces the file at its path.",
    after_long_help = "\
Examples:
  lith flatten patch.erofs -o whole.erofs
  lith flatten --base-dir /srv/images patch.erofs -o whole.erofs"
)]
pub(crate) struct Flatten {
    #[command(flatten)]
    pub(crate) image: ImageArgs,

    /// The image to make
    #[arg(short, long, value_name = "FILE", value_parser = value::place())]
    pub(crate) output: PathBuf,

    /// Compress everything again, with the options of `lith build` without options
    #[arg(long)]
    pub(crate) rebuild: bool,

    #[command(flatten)]
    pub(crate) workers: WorkersArgs,

    /// Print what was made as JSON: docs/json.md
    #[arg(long)]
    pub(crate) json: bool,
}
