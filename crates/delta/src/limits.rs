//! Bounds what a delta may ask of the machine that applies it, and what is put into one.

/// Bytes of content of a section.
pub(crate) const CONTENT: u64 = 72 << 20;
/// Bytes of the units that a section's content resembles, as they are before compression.
pub(crate) const PREFIX: u64 = 132 << 20;
/// Bytes that a section's runs become.
pub(crate) const OUTPUT: u64 = 96 << 20;
/// Bytes that describe a section.
pub(crate) const DESCRIPTION: u64 = 4 << 20;
/// Bytes of a stored unit, and of what it holds.
pub(crate) const UNIT: u64 = 16 << 20;
/// The largest window of a section's stream, as a power of two: content and prefix.
pub(crate) const WINDOW_LOG: u32 = 28;
/// Encoders that a delta uses.
pub(crate) const CODINGS: u64 = 64;
/// Bytes of an encoder's name.
pub(crate) const NAME: u64 = 100;

/// The content of a section, as it is made here.
pub(crate) const GOOD_CONTENT: u64 = 64 << 20;
/// The prefix of a section, as it is made here.
pub(crate) const GOOD_PREFIX: u64 = 128 << 20;
/// The content of one run, as it is made here.
pub(crate) const GOOD_RUN: u64 = 2 << 20;
/// What an encoder is shown of the content after the last pcluster of a run.
pub(crate) const LOOKAHEAD: u64 = 256 << 10;
/// Bytes of a unit that is no pcluster.
pub(crate) const PLAIN_UNIT: u64 = 64 << 10;
