//! Defines the arguments of `lith push` and `lith pull`.

use std::path::PathBuf;

use super::common::DeviceArgs;

/// Send an image to a registry
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Sends an image to a registry of containers, under a name. The images that a patch refers to are sent with it. \
        What the registry has already is not sent again. The login is that of `docker login` or `podman login`.",
    after_long_help = "\
Examples:
  lith push rootfs.erofs oci://registry.example/box:1
  lith push --config-file box.json rootfs.erofs oci://registry.example/box:1   with what containerd needs to run it
  lith mount oci://registry.example/box:1 /mnt"
)]
pub(crate) struct Push {
    /// The EROFS image
    pub(crate) image: PathBuf,

    /// Its name in the registry: `oci://HOST[:PORT]/REPOSITORY[:TAG]`
    #[arg(value_name = "REF")]
    pub(crate) reference: String,

    /// The configuration of a container image, as `lith build --config-file` writes it
    #[arg(long, value_name = "FILE")]
    pub(crate) config_file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) devices: DeviceArgs,
}

/// Fetch an image from a registry
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Fetches an image from a registry of containers. The images that a patch refers to are put beside it, by the names \
        under which it looks for them. All bytes are compared with their digests before a file gets its name. If it is \
        interrupted, it can be started again; files that are complete are not fetched again.",
    after_long_help = "\
Examples:
  lith pull oci://registry.example/box:1 box.erofs
  lith pull oci://registry.example/box@sha256:6b3b...3f box.erofs"
)]
pub(crate) struct Pull {
    /// The name of the image: `oci://HOST[:PORT]/REPOSITORY[:TAG][@sha256:DIGEST]`
    #[arg(value_name = "REF")]
    pub(crate) reference: String,

    /// The file to make
    pub(crate) image: PathBuf,

    /// Replace files that are other than those to be fetched
    #[arg(long)]
    pub(crate) force: bool,
}
