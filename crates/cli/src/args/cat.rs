//! Defines the arguments of `lith cat`.

use std::ffi::OsString;

use super::common::ImageArgs;

/// Print the content of files
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Writes the content of files to standard output. Symbolic links are followed within the image.",
    after_long_help = "\
Examples:
  lith cat image.erofs /etc/os-release
  lith cat image.erofs /boot/vmlinuz > vmlinuz"
)]
pub(crate) struct Cat {
    #[command(flatten)]
    pub(crate) image: ImageArgs,

    /// The files
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<OsString>,
}
