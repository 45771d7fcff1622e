//! Defines why a container image can't be read.

use crate::limits;

/// Why a container image can't be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OciError {
    /// Of several images none was chosen, or there is none of the name.
    #[error("{}; there {}", not_one(.wanted.as_deref()), list(.found))]
    Name {
        /// The name that was given.
        wanted: Option<String>,
        /// The names of the images that are there.
        found: Vec<String>,
    },
    /// There is no image for a platform.
    #[error("it has no image for {wanted}; there {}", list(.found))]
    Platform {
        /// The platform.
        wanted: String,
        /// The platforms of the images that are there.
        found: Vec<String>,
    },
    /// A digest has another form than `sha256:` or `sha512:` and lowercase digits.
    #[error("{0:?} is no digest")]
    Digest(String),
    /// A blob is missing.
    #[error("it has no {0}")]
    Missing(String),
    /// A blob's size is not that in its descriptor.
    #[error("{name} has {found} bytes, not {expected}")]
    Size {
        /// The blob.
        name: String,
        /// Its size in bytes.
        found: u64,
        /// That of the descriptor.
        expected: u64,
    },
    /// A blob's bytes are not those of its digest.
    #[error("{name} has the digest {found}, not {expected}")]
    Mismatch {
        /// The blob, or the layer in it.
        name: String,
        /// The digest of its bytes.
        found: String,
        /// That of the descriptor, or the layer's diff id.
        expected: String,
    },
    /// A document is larger than any real one.
    #[error("{name} has {found} bytes, more than {}", limits::OCI_DOCUMENT)]
    TooLarge {
        /// The document.
        name: String,
        /// Its size in bytes.
        found: u64,
    },
    /// A document is not the JSON that is expected.
    #[error("{name} is damaged")]
    Json {
        /// The document.
        name: String,
        /// What is wrong, and where.
        source: serde_json::Error,
    },
    /// A document is neither an index nor a manifest, or both.
    #[error("{0} is neither an index nor a manifest")]
    Document(String),
    /// Indexes refer to indexes too often.
    #[error("its indexes are nested more than {} times", limits::OCI_INDEXES)]
    Nested,
    /// The manifest and the configuration disagree about the number of layers.
    #[error("its manifest has {layers} layers, its configuration {diff_ids}")]
    Layers {
        /// Those of the manifest.
        layers: usize,
        /// Those of the configuration.
        diff_ids: usize,
    },
}

fn not_one(name: Option<&str>) -> String {
    match name {
        Some(name) => format!("it has no image called {name}"),
        None => "it has not exactly one image, and none is chosen".to_owned(),
    }
}

fn list(names: &[String]) -> String {
    match names {
        [] => "is none".to_owned(),
        [one] => format!("is {one}"),
        all => format!("are {}", all.join(", ")),
    }
}
