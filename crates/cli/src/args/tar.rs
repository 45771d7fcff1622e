//! Defines the arguments of `lith tar`.

use std::path::PathBuf;

use clap::ValueEnum;
use lith::export::MemberOrder;

use super::{
    common::{self, ImageArgs, ObjectsArgs, SalvageArgs},
    paths::PathArgs,
    stream::StreamCompression,
};

/// Convert an image to a tar
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Writes all files of an image, or the given paths and everything below them, as a tar (POSIX pax) with \
        all attributes, to standard output or a file.",
    after_long_help = "\
Examples:
  lith tar -o image.tar.zst image.erofs
  lith tar -o etc.tar image.erofs /etc
  lith tar --order stored --compress zstd,19 image.erofs > image.tar.zst
  lith tar image.erofs | docker import - image
  lith tar -o image.tar image.squashfs",
    mut_arg("image", common::any_file),
    mut_arg("paths", common::last)
)]
pub(crate) struct Tar {
    #[command(flatten)]
    pub(crate) image: ImageArgs,

    #[command(flatten)]
    pub(crate) objects: ObjectsArgs,

    #[command(flatten)]
    pub(crate) paths: PathArgs,

    /// The tar, replaced when it is complete; compressed if it ends with .gz, .xz, .zst or .bz2; `-`: standard output
    /// [default]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// First compare the content of all files with the digests that their attributes record (see `lith build --digests`), and
    /// write nothing if one is wrong
    #[arg(long, conflicts_with = "keep_going")]
    pub(crate) digests: bool,

    #[command(flatten)]
    pub(crate) salvage: SalvageArgs,

    /// Compress it: none, gzip, xz, zstd or bzip2 [default: by the suffix of the output]
    #[arg(long, value_name = "ALGORITHM[,LEVEL]")]
    pub(crate) compress: Option<StreamCompression>,

    /// The order of members: by path, or as files are stored, which is faster for images whose small files share large
    /// pclusters
    #[arg(long, value_name = "ORDER", default_value = "path")]
    pub(crate) order: Order,

    /// Print what was written as JSON: docs/json.md
    #[arg(long, requires = "output")]
    pub(crate) json: bool,
}

/// An order of members.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Order {
    /// By path; the same tree has the same tar.
    Path,
    /// As files are stored.
    Stored,
}

impl From<Order> for MemberOrder {
    fn from(order: Order) -> Self {
        match order {
            Order::Path => Self::Path,
            Order::Stored => Self::Stored,
        }
    }
}
