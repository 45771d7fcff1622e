//! Defines the arguments of `lith bench`, which lith-bench parses.

use std::ffi::OsString;

/// Compare lith with other filesystems on this machine
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    long_about = "Starts the program lith-bench, from the directory of this program or the PATH, with the same arguments. It builds \
        images of the same content with lith and other filesystems, mounts and reads them in turn, and writes the \
        measurements as JSON, Markdown and one HTML page with plots.",
    after_long_help = "\
Examples:
  lith bench --help                      all options
  lith bench --list                      all measurements
  lith bench --out results               the published comparisons, on the usual corpora"
)]
pub(crate) struct Bench {
    /// Arguments of lith-bench
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}
