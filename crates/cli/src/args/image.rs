//! Defines the arguments that name an image.

use std::path::PathBuf;

/// An image and its further devices.
#[derive(Debug, clap::Args)]
pub(crate) struct ImageArgs {
    /// The EROFS image
    pub(crate) image: PathBuf,

    /// A further device of a multi-device image, in the order of its device table
    #[arg(long = "device", value_name = "FILE")]
    pub(crate) devices: Vec<PathBuf>,
}
