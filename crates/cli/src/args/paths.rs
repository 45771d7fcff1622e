//! Defines the arguments that name paths in an image.

use std::{ffi::OsString, path::PathBuf};

/// Paths in an image, of the command line and of a file.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct PathArgs {
    /// Paths in the image, or patterns for them: `*`, `?` and `[...]` match within a name, `**` across names, `{a,b}` either
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<OsString>,

    /// Further paths or patterns, one per line of a file; `-`: standard input
    #[arg(short = 'T', long, value_name = "FILE")]
    pub(crate) files_from: Option<PathBuf>,

    /// Paths end with a NUL instead of a newline
    #[arg(short = '0', long)]
    pub(crate) null: bool,
}
