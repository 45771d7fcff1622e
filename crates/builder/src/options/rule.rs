//! Which files are compressed in another way than the rest?

use std::{fmt, sync::Arc};

use lith_codec::Compressor;

use super::method::Compression;

/// Says how some files are compressed.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The files that it is for.
    pub files: Files,
    /// Their compression; nothing to store them plain.
    pub compression: Option<Compression>,
    /// A compressor of another algorithm, which makes those pclusters that hold clearly more by it.
    pub second: Option<Compressor>,
}

/// A choice of files by their paths.
#[derive(Clone)]
pub struct Files(Arc<Test>);

type Test = dyn Fn(&[u8]) -> bool + Send + Sync;

impl Files {
    /// The files for whose path `test` says yes. The path begins at the root, without a slash; of a file with several
    /// names it is the first.
    pub fn new(test: impl Fn(&[u8]) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(test))
    }

    /// Whether the file at `path` is among them.
    #[must_use]
    pub fn includes(&self, path: &[u8]) -> bool {
        (self.0)(path)
    }
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Files")
    }
}
