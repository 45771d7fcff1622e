//! Defines the arguments of `lith applets`.

use std::path::PathBuf;

/// List or link the programs of erofs-utils that this program replaces
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Called as mkfs.erofs, fsck.erofs, dump.erofs, erofsfuse or mount.erofs, this program has the options \
        and the output of that program of erofs-utils. `lith mkfs.erofs ...` does the same without a link. This verb \
        lists the names, or makes symbolic links with these names to this program.",
    after_long_help = "\
Examples:
  lith applets
  lith applets --install /usr/local/bin
  lith applets --install \"$out/bin\" --target ../libexec/lith"
)]
pub(crate) struct Applets {
    /// Make the links in this directory, which is created if needed
    #[arg(long, value_name = "DIR")]
    pub(crate) install: Option<PathBuf>,

    /// The target of the links [default: this program's file]
    #[arg(long, value_name = "PATH", requires = "install")]
    pub(crate) target: Option<PathBuf>,

    /// Replace existing files with these names
    #[arg(long, requires = "install")]
    pub(crate) force: bool,
}
