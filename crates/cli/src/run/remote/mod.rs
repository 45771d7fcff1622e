//! Opens images on web servers.

#[cfg(not(feature = "remote"))]
mod absent;
#[cfg(feature = "remote")]
mod fetched;

#[cfg(not(feature = "remote"))]
pub(super) use absent::{folders, open, read_ahead};
#[cfg(feature = "remote")]
pub(super) use fetched::{cache, folders, open, read_ahead};
