//! Defines how two trees are compared.

use std::num::NonZeroUsize;

use super::Aspects;

/// How two trees are compared.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct DiffOptions {
    /// Differences that are not reported.
    pub ignore: Aspects,
    /// The number of threads that read and compare contents.
    pub workers: NonZeroUsize,
}

impl DiffOptions {
    /// The default with changes.
    #[must_use]
    pub fn with(change: impl FnOnce(&mut Self)) -> Self {
        let mut options = Self::default();
        change(&mut options);
        options
    }
}

impl Default for DiffOptions {
    /// Ignores nothing and uses one thread.
    fn default() -> Self {
        Self { ignore: Aspects::empty(), workers: NonZeroUsize::MIN }
    }
}
