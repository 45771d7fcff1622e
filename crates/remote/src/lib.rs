//! Where do the bytes of an image on a web server come from?
//!
//! [`RemoteDevice`] reads an object at an `http://` or `https://` address by ranges. What was fetched is kept in a [`Cache`] on
//! disk that several processes share, or in a temporary file. All bytes of a device are those of one version of the object:
//! when that changes on the server, what isn't here yet is refused.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod address;
mod cache;
mod claims;
mod client;
mod device;
mod error;
mod flights;
mod kept;
mod options;
mod store;
mod units;
mod version;
mod windows;

pub use address::Address;
pub use cache::{Cache, CachedObject, Pruned, Verified};
pub use device::{RemoteDevice, Traffic};
pub use error::RemoteError;
pub use kept::Kept;
pub use options::Options;
