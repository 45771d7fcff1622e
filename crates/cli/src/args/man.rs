//! Where shall manual pages go?

use std::path::PathBuf;

/// Write manual pages
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Writes a manual page for the program, one for each verb and one for each program that it is called \
        instead of into a directory, or without one prints the program's own page.",
    after_long_help = "\
Examples:
  lith man /usr/local/share/man/man1     then: man lith-build
  lith man | man -l -"
)]
pub(crate) struct Man {
    /// The directory for lith.1, lith-build.1 and the others; made if it is not there
    pub(crate) directory: Option<PathBuf>,
}
