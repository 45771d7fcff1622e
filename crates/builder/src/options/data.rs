//! Defines [`DataImport`]: which bytes of files an image holds.

/// Which bytes of files an image holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataImport {
    /// All of them, or references to them on other devices.
    #[default]
    Full,
    /// Contiguous blocks for each file, which others fill later.
    Reserved,
    /// None: all files are holes.
    Zeros,
}
