//! Defines the arguments of `lith umount`.

use std::path::PathBuf;

use super::value;

/// Unmount an image
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Unmounts what `lith mount` mounted, by the kernel or by FUSE. For other users than root, the program \
        fusermount3 unmounts.",
    after_long_help = "\
Examples:
  lith umount /mnt
  lith umount --lazy /mnt                detach now, unmount after the last use"
)]
pub(crate) struct Umount {
    /// Detach it even if it is in use
    #[arg(short, long)]
    pub(crate) lazy: bool,

    /// Wait for the end of standard input, then unmount only if the server is dead
    #[arg(long, hide = true)]
    pub(crate) when_dead: bool,

    /// Where it is mounted
    #[arg(value_name = "DIR", value_parser = value::place())]
    pub(crate) directory: PathBuf,
}
