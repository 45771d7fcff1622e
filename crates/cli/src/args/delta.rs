//! Defines the arguments of `lith delta` and `lith apply`.

use std::path::PathBuf;

use super::{
    common::{DeviceArgs, WorkersArgs},
    value,
};

/// Make a delta, of which an old image becomes a new one
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Makes a delta: a small file of which, with the old image, `lith apply` makes the new one, bit for bit. \
        Content is compared as it is before compression. Compressed data that lith's encoders make again, which is \
        tried here, is not in the delta, only the difference of its content; all other data is in it as it is stored. The \
        images may be any EROFS images, of different sources and options, but what lith made is best.",
    after_long_help = "\
Examples:
  lith delta 1.erofs 2.erofs -o 1-2.delta
  lith delta --stored 1.erofs 2.erofs -o 1-2.delta   larger, and applied much faster"
)]
pub(crate) struct Delta {
    /// The image that is there already
    pub(crate) old: PathBuf,

    /// The image that is to be there
    pub(crate) new: PathBuf,

    /// The delta to make
    #[arg(short, long, value_name = "FILE", value_parser = value::place())]
    pub(crate) output: PathBuf,

    /// Replace a file that is neither a delta nor empty
    #[arg(long)]
    pub(crate) force: bool,

    /// Effort to make the delta small, as of Zstandard
    #[arg(long, value_name = "N", default_value = "19", value_parser = clap::value_parser!(i32).range(1..=22))]
    pub(crate) level: i32,

    /// Hold compressed data that the old image lacks as it is stored, so that applying compresses nothing
    ///
    /// The delta is several times larger. Without this, applying takes about as long as compressing what has changed,
    /// with the options that the image was built with.
    #[arg(long)]
    pub(crate) stored: bool,

    #[command(flatten)]
    pub(crate) devices: DeviceArgs,

    #[command(flatten)]
    pub(crate) workers: WorkersArgs,

    /// Print what was made as JSON: docs/json.md
    #[arg(long)]
    pub(crate) json: bool,
}

/// Make the new image of an old one and a delta
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Makes the new image of the old one and a delta (see `lith delta`), bit for bit. The old image is refused if \
        its SHA-256 is another one, and the new image gets its name only if its own is right. If it is interrupted, nothing \
        is left, and it can be started again.",
    after_long_help = "\
Examples:
  lith apply 1.erofs 1-2.delta -o 2.erofs
  curl https://example.org/1-2.delta | lith apply 1.erofs - -o 2.erofs"
)]
pub(crate) struct Apply {
    /// The image that the delta was made of
    pub(crate) old: PathBuf,

    /// The delta; `-`: standard input
    pub(crate) delta: PathBuf,

    /// The image to make
    #[arg(short, long, value_name = "FILE", value_parser = value::place())]
    pub(crate) output: PathBuf,

    /// Replace a file that is neither an EROFS image nor empty
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) workers: WorkersArgs,

    /// Print what was made as JSON: docs/json.md
    #[arg(long)]
    pub(crate) json: bool,
}
