//! Defines the arguments of `lith cat`.

use super::{
    common::{self, ImageArgs, ObjectsArgs, SalvageArgs},
    paths::PathArgs,
};

/// Print the content of files
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Writes the content of files to standard output. Symbolic links are followed within the image.",
    after_long_help = "\
Examples:
  lith cat image.erofs /etc/os-release
  lith cat image.erofs /boot/vmlinuz > vmlinuz
  lith cat image.erofs '/etc/apt/**/*.list'
  lith cat image.erofs --files-from names
  lith cat image.squashfs /etc/fstab
  lith cat https://host/image.erofs /etc/os-release",
    mut_arg("image", common::any_file),
    mut_arg("paths", |paths| paths.required_unless_present("files_from"))
)]
pub(crate) struct Cat {
    #[command(flatten)]
    pub(crate) image: ImageArgs,

    #[command(flatten)]
    pub(crate) objects: ObjectsArgs,

    #[command(flatten)]
    pub(crate) paths: PathArgs,

    #[command(flatten)]
    pub(crate) salvage: SalvageArgs,
}
