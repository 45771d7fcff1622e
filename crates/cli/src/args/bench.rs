//! Parses the arguments of `bench`, which another program reads.

use std::ffi::OsString;

/// Compare lith with other filesystems on this machine
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    long_about = "Starts the program lith-bench, which is beside this one or in the PATH, with the same arguments. It makes \
        images of the same content by lith and by other filesystems, mounts and reads them in turn, and writes what it \
        measured as JSON, Markdown and one HTML page with plots.",
    after_long_help = "\
Examples:
  lith bench --help                      all options
  lith bench --list                      what there is to measure
  lith bench --out results               the published comparisons, on the usual corpora"
)]
pub(crate) struct Bench {
    /// Arguments of lith-bench
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}
