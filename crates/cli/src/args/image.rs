//! Which image is read?

use std::path::PathBuf;

/// An image, and the devices that parts of it lie on.
#[derive(Debug, clap::Args)]
pub(crate) struct ImageArgs {
    /// The EROFS image
    pub(crate) image: PathBuf,

    /// A further device of an image that lies on several, in the order of its device table
    #[arg(long = "device", value_name = "FILE")]
    pub(crate) devices: Vec<PathBuf>,
}
