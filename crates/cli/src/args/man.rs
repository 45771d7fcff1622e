//! Defines the arguments of `lith man`.

use std::path::PathBuf;

use super::value;

/// Write manual pages
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Writes manual pages for the program, each verb and each applet into a directory. Without a directory, \
        prints the program's page.",
    after_long_help = "\
Examples:
  lith man /usr/local/share/man/man1     then: man lith-build
  lith man | man -l -"
)]
pub(crate) struct Man {
    /// The directory for lith.1, lith-build.1 and the others; created if needed
    #[arg(value_parser = value::place())]
    pub(crate) directory: Option<PathBuf>,
}
