//! Which words does dump.erofs have?

use clap::Args;

use crate::applets::image::{FileWords, ImageWords};

/// What shall be shown of which image.
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct Words {
    #[command(flatten)]
    pub(super) image: ImageWords,

    /// Show the superblock; so it is if nothing else is asked for
    #[arg(short = 's')]
    superblock: bool,

    /// Show how many files of each kind and size there are, and how well they are compressed
    #[arg(short = 'S')]
    pub(super) statistics: bool,

    /// Show where the file's bytes are stored
    #[arg(short = 'e')]
    pub(super) extents: bool,

    /// List the directory
    #[arg(long = "ls")]
    pub(super) list: bool,

    /// Print the file's bytes
    #[arg(long)]
    pub(super) cat: bool,

    #[command(flatten)]
    pub(super) file: FileWords,

    /// Print what udev needs of a block device
    #[arg(long)]
    pub(super) blkid_udev: bool,
}

impl Words {
    /// Whether the words go together.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        if self.blkid_udev {
            return Ok(());
        }
        if self.cat && (self.superblock || self.statistics || self.list || self.extents) {
            return Err("--cat goes with none of -s, -S, -e and --ls");
        }
        if !self.file.is_given() && (self.cat || self.list || self.extents) {
            return Err("--cat, --ls and -e need a file: --path or --nid");
        }
        Ok(())
    }

    pub(super) const fn shows_superblock(&self) -> bool {
        self.superblock || !(self.statistics || self.file.is_given())
    }
}
