//! Defines the arguments of `lith diff`.

use std::path::PathBuf;

use clap::ValueEnum;
use lith::{
    bases::Search,
    tree::{Aspects, DiffOptions},
    verity::RootHash,
};

use super::{
    common::{DeviceArgs, WorkersArgs},
    location::Location,
    remote::RemoteArgs,
    trust::{self, Trust},
    value::Size,
};

/// Compare two trees
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Compares two trees, each a directory, a tar or cpio archive, or an image of EROFS or SquashFS, by content, mode, owner, time, \
        links, device number and extended attributes, and prints each difference with its path; with --json as one \
        object per line.\n\n\
        Exit codes are those of diff(1): 0 no differences, 1 differences, 2 failure or wrong usage.",
    after_long_help = "\
Examples:
  lith diff rootfs rootfs.erofs
  lith diff --ignore mtime,owner old.erofs new.tar.zst
  lith diff -q a.erofs b.erofs && echo equal"
)]
pub(crate) struct Diff {
    /// A directory, an archive (tar, cpio, zip; `-`: standard input), an EROFS or SquashFS image, also at http(s)://, s3://, gs://, az:// or oci://
    pub(crate) a: PathBuf,

    /// Another one
    pub(crate) b: PathBuf,

    /// Byte offset of the first image within its file
    #[arg(long, value_name = "BYTES", default_value = "0", hide_default_value = true)]
    pub(crate) offset_a: Size,

    /// Byte offset of the second image within its file
    #[arg(long, value_name = "BYTES", default_value = "0", hide_default_value = true)]
    pub(crate) offset_b: Size,

    /// Verify each block of the first image by the hash tree with this root hash: 64 hexadecimal digits, or the file that
    /// holds them
    #[arg(long, value_name = "HASH", value_parser = trust::root_hash)]
    root_hash_a: Option<RootHash>,

    /// The file with the hash tree of the first image, unless it follows that
    #[arg(long, value_name = "FILE", requires = "root_hash_a")]
    verity_a: Option<PathBuf>,

    /// Verify each block of the second image
    #[arg(long, value_name = "HASH", value_parser = trust::root_hash)]
    root_hash_b: Option<RootHash>,

    /// The file with the hash tree of the second image, unless it follows that
    #[arg(long, value_name = "FILE", requires = "root_hash_b")]
    verity_b: Option<PathBuf>,

    /// Differences to ignore, separated by commas
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    ignore: Vec<Aspect>,

    #[command(flatten)]
    pub(crate) devices: DeviceArgs,

    /// Read images also if the checksum of their superblock is wrong
    #[arg(long)]
    pub(crate) ignore_checksum: bool,

    #[command(flatten)]
    remote: RemoteArgs,

    #[command(flatten)]
    workers: WorkersArgs,

    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// A kind of differences.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Aspect {
    /// Permission bits
    Mode,
    /// User and group
    Owner,
    /// Modification time
    Mtime,
    /// Link counts, and which names are hard links of one file
    Links,
    /// Extended attributes
    Xattrs,
    /// Content of files of equal size
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
    /// Where both trees are.
    pub(crate) fn locations(&self, of_a: &Search, of_b: &Search) -> [Location<'_>; 2] {
        let trust = |root: Option<RootHash>, tree: &Option<PathBuf>| {
            root.map(|root| Trust { root, tree: tree.clone(), hash_offset: None })
        };
        [
            Location {
                path: &self.a,
                offset: self.offset_a.0,
                search: of_a.clone(),
                trust: trust(self.root_hash_a, &self.verity_a),
                keep: self.remote.keep(),
            },
            Location {
                path: &self.b,
                offset: self.offset_b.0,
                search: of_b.clone(),
                trust: trust(self.root_hash_b, &self.verity_b),
                keep: self.remote.keep(),
            },
        ]
    }

    pub(crate) fn options(&self) -> DiffOptions {
        DiffOptions::with(|options| {
            options.ignore = self.ignore.iter().map(|aspect| Aspects::from(*aspect)).collect();
            options.workers = self.workers.count();
        })
    }
}
