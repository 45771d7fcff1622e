//! Reads what the environment decides: the number of workers and the time of files.

use std::{env, num::NonZeroUsize, thread};

use lith::tree::Timestamp;

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
