//! Defines the arguments of `lith record`.

use std::{ffi::OsString, path::PathBuf};

use super::{
    common::DeviceArgs,
    value::{self, Size},
};

/// Record what a command reads of an image
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Runs a command and records what it reads of an image, in the order of first use: a profile for \
        `lith build --profile`. The image is mounted while the command runs, with nothing of it in memory, at --mount or at a \
        folder of its own, whose path is in $LITH_MOUNT. Without an image, the folder --mount is watched, which is the \
        source of an image that is still to be built.\n\n\
        For root on Linux 6.14 the kernel's driver mounts the image and tells each range that it reads (fanotify); otherwise \
        a FUSE server records the kernel's requests. The exit code is that of the command.",
    after_long_help = "\
Examples:
  lith record -o app.profile app.erofs -- sh -c '$LITH_MOUNT/bin/app --version'
  lith record -o app.profile --mount /opt/app app.erofs -- /opt/app/bin/app --version
  lith record -o app.profile --mount rootfs -- chroot rootfs app --version"
)]
pub(crate) struct Record {
    /// The profile to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// Where the image is mounted; without an image, the folder that is watched
    #[arg(long, value_name = "DIR", required_unless_present = "image", value_parser = value::place())]
    pub(crate) mount: Option<PathBuf>,

    /// Mount the image by FUSE
    #[arg(long, requires = "image")]
    pub(crate) fuse: bool,

    /// Let the FUSE server keep all rights of its user, as `lith mount` does with this option
    #[arg(long, requires = "image")]
    pub(crate) no_sandbox: bool,

    /// Byte offset of the image within its file
    #[arg(long, value_name = "BYTES", default_value = "0", hide_default_value = true)]
    pub(crate) offset: Size,

    #[command(flatten)]
    pub(crate) devices: DeviceArgs,

    /// The EROFS image
    pub(crate) image: Option<PathBuf>,

    /// The command, with its arguments
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<OsString>,
}
