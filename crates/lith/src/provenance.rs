//! How was an image made? Defines [`Provenance`], which an image can record in a note outside of its tree.

use std::io::{self, Write};

use lith_builder::LAYOUT;
use lith_device::ReadAt;
use lith_format::provenance::{SEARCHED, find_provenance};
use lith_tree::{ContentError, DumpError, Filesystem, dump};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The program that records.
const TOOL: &str = concat!("lith ", env!("CARGO_PKG_VERSION"));

/// By what, with which options and of what an image was made. The same source and options make the same bytes with programs of
/// the same layout.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Provenance {
    /// The program and its version.
    pub tool: String,
    /// The version of what images of that program look like.
    pub layout: u32,
    /// What was requested.
    #[serde(flatten)]
    pub recipe: Recipe,
    /// The SHA-256 of the tree as [`dump`](crate::tree::dump()) writes it, after all changes that the options make.
    pub tree: String,
}

/// What is requested of a build, as far as it decides the bytes.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Recipe {
    /// The options of `lith build`, in its own order.
    pub options: Vec<String>,
    /// The files that options name, which must be given again.
    pub files: Vec<RecordedFile>,
    /// The number of sources.
    pub sources: usize,
}

/// A file that decides bytes, known by its digest.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RecordedFile {
    /// The option that names it.
    pub option: String,
    /// Its name, without directories.
    pub name: String,
    /// The SHA-256 of its bytes, in hexadecimal digits.
    pub sha256: String,
}

/// Why an image's provenance can't be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProvenanceError {
    /// The image records none.
    #[error("records no provenance: `lith build --provenance` makes images that do")]
    Missing,
    /// What it records has another form.
    #[error("the provenance is in a form that this version doesn't know")]
    Form(#[source] serde_json::Error),
    /// The image can't be read.
    #[error(transparent)]
    Read(#[from] lith_device::DeviceError),
}

impl Provenance {
    /// What an image of `fs` is to record.
    ///
    /// # Errors
    /// [`ContentError`] if a file can't be read.
    pub(crate) fn new(recipe: Recipe, fs: Filesystem<'_>) -> Result<Self, ContentError> {
        let mut hash = Hash(Sha256::new());
        match dump(fs, &mut hash) {
            Ok(()) => {}
            Err(DumpError::Content(error)) => return Err(error),
            Err(error) => unreachable!("a digest takes all bytes: {error}"),
        }
        let tree = hex::encode(hash.0.finalize());
        Ok(Self { tool: TOOL.to_owned(), layout: LAYOUT, recipe, tree })
    }

    /// The text that is recorded.
    pub(crate) fn to_text(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("strings and numbers have a JSON form")
    }

    /// What the image on a device records.
    ///
    /// # Errors
    /// [`ProvenanceError`] if it records nothing, or can't be read.
    pub fn read(device: &dyn ReadAt) -> Result<Self, ProvenanceError> {
        let searched = usize::try_from(device.size()).map_or(SEARCHED, |size| size.min(SEARCHED));
        let mut bytes = vec![0; searched];
        device.read_at(&mut bytes, 0)?;
        let text = find_provenance(&bytes).ok_or(ProvenanceError::Missing)?;
        serde_json::from_slice(text).map_err(ProvenanceError::Form)
    }

    /// Whether images of this program look as those of the program that made this one.
    #[must_use]
    pub fn has_our_layout(&self) -> bool {
        self.layout == LAYOUT
    }
}

impl RecordedFile {
    /// The digest of a file's bytes, as it is recorded.
    ///
    /// # Errors
    /// Those of reading.
    pub fn digest(mut file: impl io::Read) -> io::Result<String> {
        let mut hash = Hash(Sha256::new());
        io::copy(&mut file, &mut hash)?;
        Ok(hex::encode(hash.0.finalize()))
    }
}

/// A digest of what is written.
struct Hash(Sha256);

impl Write for Hash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
