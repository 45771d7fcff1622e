//! Which two trees are compared, and what does not count?

use std::{num::NonZeroUsize, path::PathBuf};

use clap::ValueEnum;
use lith::tree::{Aspects, DiffOptions};

/// Compare two trees
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Compares two trees, each a directory, a tar or an EROFS image, in every byte, mode, owner, \
        time, link, device number and extended attribute, and prints each difference with its path.\n\n\
        Exit codes are those of diff(1): 0 no difference, 1 differences, 2 trouble.",
    after_long_help = "\
Examples:
  lith diff rootfs rootfs.erofs
  lith diff --ignore mtime,owner old.erofs new.tar.zst
  lith diff -q a.erofs b.erofs && echo equal"
)]
pub(crate) struct Diff {
    /// A directory, a tar (`-`: on standard input) or an EROFS image
    pub(crate) a: PathBuf,

    /// Another
    pub(crate) b: PathBuf,

    /// What does not count, separated by commas
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    ignore: Vec<Aspect>,

    /// Threads that compare content [default: one for each core]
    #[arg(long, value_name = "N")]
    workers: Option<NonZeroUsize>,

    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,

    /// Print nothing; the exit code says it
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,
}

/// A group of differences.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Aspect {
    /// Permission bits
    Mode,
    /// User and group
    Owner,
    /// Time of last modification
    Mtime,
    /// Link counts, and which names are of one file
    Links,
    /// Extended attributes
    Xattrs,
    /// Bytes of files of equal size
    Content,
}

impl From<Aspect> for Aspects {
    fn from(aspect: Aspect) -> Self {
        match aspect {
            Aspect::Mode => Self::PERMISSIONS,
            Aspect::Owner => Self::OWNERS,
            Aspect::Mtime => Self::MTIME,
            Aspect::Links => Self::LINKS,
            Aspect::Xattrs => Self::XATTRS,
            Aspect::Content => Self::CONTENT,
        }
    }
}

impl Diff {
    /// How to compare.
    pub(crate) fn options(&self) -> DiffOptions {
        DiffOptions::with(|options| {
            options.ignore = self.ignore.iter().map(|aspect| Aspects::from(*aspect)).collect();
            options.workers = super::workers(self.workers);
        })
    }
}
