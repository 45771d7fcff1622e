//! Defines the arguments of dump.erofs.

use clap::Args;

use crate::applets::image::{FileArguments, ImageArguments};

/// The image, and what is printed of it.
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) image: ImageArguments,

    /// Show the superblock [default without other options]
    #[arg(short = 's')]
    superblock: bool,

    /// Show the number of files by type and size, and the compression ratio
    #[arg(short = 'S')]
    pub(super) statistics: bool,

    /// Show the file's extents
    #[arg(short = 'e')]
    pub(super) extents: bool,

    /// List the directory
    #[arg(long = "ls")]
    pub(super) list: bool,

    /// Print the file's content
    #[arg(long)]
    pub(super) cat: bool,

    #[command(flatten)]
    pub(super) file: FileArguments,

    /// Print the attributes that udev reads of a block device
    #[arg(long)]
    pub(super) blkid_udev: bool,
}

impl Arguments {
    /// Refuses options that contradict each other.
    pub(super) fn checked(self) -> Result<Self, String> {
        if self.blkid_udev {
            return Ok(self);
        }
        if self.cat && (self.superblock || self.statistics || self.list || self.extents) {
            return Err("--cat cannot be combined with -s, -S, -e or --ls".into());
        }
        if !self.file.is_given() && (self.cat || self.list || self.extents) {
            return Err("--cat, --ls and -e require a file: --path or --nid".into());
        }
        Ok(self)
    }

    pub(super) const fn shows_superblock(&self) -> bool {
        self.superblock || !(self.statistics || self.file.is_given())
    }
}
