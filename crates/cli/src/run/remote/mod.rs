//! Opens images on servers.

#[cfg(not(feature = "remote"))]
mod absent;
#[cfg(feature = "remote")]
mod fetched;

#[cfg(not(feature = "remote"))]
pub(super) use absent::{
    change, folders, further, open, opened_as, prepare, read_ahead, sends_all,
};
#[cfg(feature = "remote")]
pub(super) use fetched::{
    cache, change, folders, further, kept, open, opened, opened_as, options, prepare, read_ahead,
    resume, sends_all,
};
