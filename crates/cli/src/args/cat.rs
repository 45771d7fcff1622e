//! Which files' bytes are wanted?

use std::ffi::OsString;

use super::image::ImageArgs;

/// Print files of an image
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Writes the bytes of files to standard output, one after the other. Symbolic links are \
        followed inside the image.",
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
