//! Where do the bytes of an image on a server come from?
//!
//! [`RemoteDevice`] reads an object at an `http://`, `https://`, `s3://`, `gs://`, `az://` or `oci://` address by ranges. What was fetched is
//! kept in a [`Cache`] on disk that several processes share, or in a temporary file. All bytes of a device are those of one
//! version of the object: when that changes on the server, what isn't here yet is refused.
//!
//! [`Registry`] fetches and sends what a registry of containers has. All requests are made by one HTTP client ([`mod@client`]).
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod access;
mod address;
mod azure;
mod cache;
mod chunks;
mod claims;
mod client;
mod device;
mod digest;
mod environment;
mod error;
mod flights;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod kept;
#[cfg_attr(not(target_os = "linux"), path = "no_locks.rs")]
mod locks;
mod options;
mod origin;
mod place;
mod reader;
mod registry;
mod s3;
mod store;
mod target;
mod units;
mod version;
mod whole;
mod windows;

pub use address::Address;
pub use azure::AzureAccount;
pub use cache::{Cache, CachedObject, Pruned, Verified};
pub use chunks::{Chunk, ChunkIndex, ChunkSize, Chunks, LocalChunks, Obtained, cut_chunks};
pub use device::{RemoteDevice, Traffic};
pub use digest::{Verifying, sha256_of};
pub use error::RemoteError;
pub use kept::Kept;
pub use options::Options;
pub use place::{is_address, shown};
pub use reader::ObjectReader;
pub use registry::{
    Artifact, Containerd, Document, EROFS, Layer, Reference, Registry, Upload, is_reference,
    usual_login_files,
};
pub use s3::S3Account;
pub use version::Version;
pub use whole::WholeReader;
