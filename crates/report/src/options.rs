//! Defines [`Options`] of [`gather()`](crate::gather()).

/// What is gathered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// Whether equal files that are stored several times are searched for: reads all files of equal sizes.
    pub equal_files: bool,
}
