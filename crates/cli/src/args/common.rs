//! Defines arguments that several verbs have in common, and what the environment decides.

use std::{env, num::NonZeroUsize, path::PathBuf, thread};

use lith::tree::Timestamp;

/// An image and its further devices.
#[derive(Debug, clap::Args)]
pub(crate) struct ImageArgs {
    /// The EROFS image
    pub(crate) image: PathBuf,

    /// A further device of a multi-device image, in the order of its device table
    #[arg(long = "device", value_name = "FILE")]
    pub(crate) devices: Vec<PathBuf>,
}

/// The number of threads.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkersArgs {
    /// Threads to use [default: one per core]
    #[arg(long, value_name = "N")]
    workers: Option<NonZeroUsize>,
}

impl WorkersArgs {
    /// The requested number, or one per core.
    pub(crate) fn count(&self) -> NonZeroUsize {
        workers(self.workers)
    }
}

/// The form of the result.
#[derive(Debug, clap::Args)]
pub(crate) struct OutputArgs {
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,

    /// Print nothing; the exit code is the result
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,
}

/// The requested number of workers; without a request one per core.
pub(crate) fn workers(requested: Option<NonZeroUsize>) -> NonZeroUsize {
    let cores = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    requested.unwrap_or_else(cores)
}

/// The time in `SOURCE_DATE_EPOCH`, as <https://reproducible-builds.org/specs/source-date-epoch> defines it; `None`: it is
/// not set.
pub(crate) fn source_date_epoch() -> Result<Option<Timestamp>, String> {
    let Some(value) = env::var_os("SOURCE_DATE_EPOCH").filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let sec = value.to_str().and_then(|value| value.parse().ok());
    let time = sec.map(|sec| Timestamp { sec, nsec: 0 });
    let problem =
        || format!("SOURCE_DATE_EPOCH is {}; expected seconds since 1970", value.display());
    time.ok_or_else(problem).map(Some)
}
