//! Defines [`DeltaError`], why a delta can't be made or applied.

use std::io;

use lith_codec::CodecError;
use lith_device::DeviceError;

/// Why a delta can't be made or applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeltaError {
    /// An image can't be read.
    #[error("cannot read the {image} image")]
    Image {
        /// `old` or `new`.
        image: &'static str,
        /// The error of its device.
        source: DeviceError,
    },
    /// The delta can't be read.
    #[error("cannot read the delta")]
    Read(#[source] io::Error),
    /// The delta, or the new image, can't be written.
    #[error("cannot write")]
    Write(#[source] io::Error),
    /// The file is something else.
    #[error("not a delta made by `lith delta`")]
    Other,
    /// The delta is of another version.
    #[error("a delta of version {found}; this program knows version {known}")]
    Version {
        /// Its version.
        found: u64,
        /// The version that is understood.
        known: u64,
    },
    /// The delta was made with encoders that compress otherwise.
    #[error(
        "the delta was made with encoders of version {found}, those here have version {known}: compressing again would \
         give other bytes"
    )]
    Encoders {
        /// Their version.
        found: u64,
        /// The version of the encoders here.
        known: u64,
    },
    /// The delta is damaged.
    #[error("the delta is damaged: {0}")]
    Damaged(&'static str),
    /// The old image is not the one that the delta was made with.
    #[error("not the image that the delta was made of: {0}")]
    WrongOld(Difference),
    /// The result is not the new image.
    #[error(
        "the result is not the new image: {0}; the delta is damaged, or an encoder compresses otherwise here"
    )]
    WrongNew(Difference),
    /// An encoder failed.
    #[error("cannot compress")]
    Codec(#[from] CodecError),
    /// The new image can't be read as it was before.
    #[error("the new image changed while it was read")]
    Changed,
    /// The work was cancelled.
    #[error("cancelled")]
    Cancelled,
}

/// By what a file differs from the one expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Difference {
    /// By its length.
    #[error("it has {found} bytes, expected {expected}")]
    Length {
        /// Its bytes.
        found: u64,
        /// The bytes expected.
        expected: u64,
    },
    /// By its bytes.
    #[error("it has SHA-256 {found}, expected {expected}")]
    Digest {
        /// Its digest, in hexadecimal.
        found: String,
        /// The digest expected.
        expected: String,
    },
}
