//! Defines [`FirstReads`]: what of an image is read first.

use std::ops::Range;

/// What of an image a program reads first, by a profile of it.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct FirstReads {
    /// Bytes of files.
    pub used: u64,
    /// Bytes of the image that hold them, each once.
    pub stored: u64,
    /// Contiguous reads in the order of the profile.
    pub requests: u64,
    /// How many of these start elsewhere than the one before ended.
    pub seeks: u64,
    /// Bytes between the end of each and the start of the next.
    pub distance: u64,
    /// Requests of a reader that reads at least 128 KiB at once, and keeps that.
    pub ahead_requests: u64,
    /// Bytes that it reads.
    pub ahead_bytes: u64,
    /// Paths of the profile that the image lacks.
    pub missing: u64,
    /// The ranges of the image's own device that hold them, in the order of their first use.
    pub ranges: Vec<Range<u64>>,
}
