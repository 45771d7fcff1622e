//! Defines [`Rule`]: which files are compressed in another way than the rest.

use std::{fmt, sync::Arc};

use lith_codec::Compressor;

use super::method::Compression;

/// How some files are compressed.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The files that it applies to.
    pub files: Files,
    /// Their compression. `None`: they are stored uncompressed.
    pub compression: Option<Compression>,
    /// A compressor of another algorithm, used for the pclusters that hold clearly more with it.
    pub second: Option<Compressor>,
}

/// A choice of files by their paths.
#[derive(Clone)]
pub struct Files {
    test: Arc<Test>,
    pattern: Option<Arc<str>>,
}

type Test = dyn Fn(&[u8]) -> bool + Send + Sync;

impl Files {
    /// The files whose path passes `test`. The path starts at the root, without a slash; of a file with several names it is
    /// the first.
    pub fn new(test: impl Fn(&[u8]) -> bool + Send + Sync + 'static) -> Self {
        Self { test: Arc::new(test), pattern: None }
    }

    /// The same files, by the pattern that chooses them. A pattern that matches nothing is reported.
    #[must_use]
    pub fn named(self, pattern: &str) -> Self {
        Self { pattern: Some(pattern.into()), ..self }
    }

    /// The pattern that chooses the files, if it is known.
    #[must_use]
    pub fn pattern(&self) -> Option<&str> {
        self.pattern.as_deref()
    }

    /// Whether the file at `path` is among them.
    #[must_use]
    pub fn includes(&self, path: &[u8]) -> bool {
        (self.test)(path)
    }
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Files")
    }
}
