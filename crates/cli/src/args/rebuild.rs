//! Defines the arguments of `lith rebuild`.

use std::{num::NonZeroUsize, path::PathBuf};

use super::{common::ImageArgs, value};

/// Make an image again of its source, and compare
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Makes an image again, of a source and by the options that the image records (`lith build --provenance`), and \
        says whether every byte is the same. If not, it names the first file that differs, or the first byte if all files are \
        equal; the exit code is 1 then.",
    after_long_help = "\
Examples:
  lith rebuild --check rootfs.erofs rootfs/
  lith rebuild rootfs.erofs rootfs/ -o again.erofs
  lith rebuild --check --with app.profile app.erofs app.tar"
)]
pub(crate) struct Rebuild {
    #[command(flatten)]
    pub(crate) image: ImageArgs,

    /// What the image was made of: as many sources as then, in the same order
    #[arg(value_name = "SOURCE", required = true)]
    pub(crate) sources: Vec<PathBuf>,

    /// Only compare: what is made is not kept
    #[arg(long, required_unless_present = "output", conflicts_with = "output")]
    pub(crate) check: bool,

    /// The image to make
    #[arg(short, long, value_name = "FILE", value_parser = value::place())]
    pub(crate) output: Option<PathBuf>,

    /// A file that an option named: a profile, patterns, labels, a base. It is recognised by its digest; can be repeated
    #[arg(long = "with", value_name = "FILE", value_parser = value::place())]
    pub(crate) files: Vec<PathBuf>,

    /// Threads that read and compress [default: one for each core]
    #[arg(long, value_name = "N", value_parser = value::count)]
    pub(crate) workers: Option<NonZeroUsize>,

    /// Replace a file that is neither an EROFS image nor empty
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}
