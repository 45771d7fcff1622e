//! Which images does an image refer to, and what do they hold?
//!
//! [`find()`] finds the files of an image's device table and refuses wrong ones; [`Bases`] reads images, and makes of them
//! what a build refers to.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod bases;
mod error;
mod find;
mod identity;
mod index;
mod known;
mod layers;
mod packed;
mod same;
mod stored;

pub use bases::{Bases, Identity};
pub use error::BaseError;
pub use find::{Found, Search, find, find_for, has_devices, read_note};
pub use identity::{check_digest, check_joined, identify};
pub use layers::Reuse;
