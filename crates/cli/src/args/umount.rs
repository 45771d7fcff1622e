//! What is to be unmounted?

use std::path::PathBuf;

/// Unmount an image
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Unmounts what `lith mount` mounted, by the kernel or by FUSE. Those who mounted without being root \
        unmount by the program fusermount3.",
    after_long_help = "\
Examples:
  lith umount /mnt
  lith umount --lazy /mnt                out of sight now, gone with its last user"
)]
pub(crate) struct Umount {
    /// Unmount it even if it is in use
    #[arg(short, long)]
    pub(crate) lazy: bool,

    /// Wait for the end of standard input, and unmount only what has no server any more
    #[arg(long, hide = true)]
    pub(crate) when_dead: bool,

    /// Where it is mounted
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}
