//! Which tree shall become text?

use std::path::PathBuf;

/// Print a whole tree as text
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Prints every path of an image, tar or directory with all its attributes and the SHA-256 of \
        its content, one line each, in an order and form that depend on nothing else: equal trees have equal \
        dumps.\n\n\
        Fields: path type mode uid gid mtime.sec mtime.nsec nlink size rdev sha256 target xattrs first-path.",
    after_long_help = "\
Examples:
  lith dump image.erofs > image.txt
  diff <(lith dump old.erofs) <(lith dump new.erofs)
  lith dump rootfs.tar.gz | sha256sum"
)]
pub(crate) struct Dump {
    /// A directory, a tar (`-`: on standard input) or an EROFS image
    pub(crate) source: PathBuf,

    /// A further device of an image that lies on several, in the order of its device table
    #[arg(long = "device", value_name = "FILE")]
    pub(crate) devices: Vec<PathBuf>,
}
