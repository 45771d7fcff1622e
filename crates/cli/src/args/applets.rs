//! Where shall the names of other programs lead here?

use std::path::PathBuf;

/// List or install the names of erofs-utils that this program answers to
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Called as mkfs.erofs, fsck.erofs, dump.erofs, erofsfuse or mount.erofs, this program has the options \
        and the output of that one of erofs-utils. `lith mkfs.erofs ...` does the same without a link. This verb \
        lists the names, or makes symbolic links of them to this program.",
    after_long_help = "\
Examples:
  lith applets
  lith applets --install /usr/local/bin
  lith applets --install \"$out/bin\" --target ../libexec/lith"
)]
pub(crate) struct Applets {
    /// Make the links in this directory, which is made if it is not there
    #[arg(long, value_name = "DIR")]
    pub(crate) install: Option<PathBuf>,

    /// Where the links lead [default: this program's file]
    #[arg(long, value_name = "PATH", requires = "install")]
    pub(crate) target: Option<PathBuf>,

    /// Replace other programs that have these names there
    #[arg(long, requires = "install")]
    pub(crate) force: bool,
}
