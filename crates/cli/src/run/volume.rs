//! Looks into images and other trees: defines [`Volume`].

use std::hash::Hash;

use lith::format::file_type::FileType;

use crate::output::file::Attributes;

/// A filesystem whose files are found by their paths: an image, or a tree of any kind.
pub(crate) trait Volume {
    /// What tells a file from all others.
    type Id: Copy + Eq + Hash;
    /// A file.
    type Node: Clone;

    /// The file at a path from the root. Symbolic links within the path are followed; one at its end only if `follow` is
    /// set or a slash follows it.
    fn find(&self, path: &[u8], follow: bool) -> anyhow::Result<Self::Node>;

    /// The file that an entry leads to; `path` is that of the entry.
    fn node(&self, path: &[u8], id: Self::Id) -> anyhow::Result<Self::Node>;

    fn id(&self, node: &Self::Node) -> Self::Id;

    fn attributes(&self, node: &Self::Node) -> Attributes;

    /// The entries of the directory at a path, without `.` and `..`.
    fn entries(&self, path: &[u8], directory: &Self::Node)
    -> anyhow::Result<Entries<'_, Self::Id>>;

    /// The target of the file at a path; `None`: it is not a symbolic link.
    fn target(&self, path: &[u8], node: &Self::Node) -> anyhow::Result<Option<Vec<u8>>>;

    /// The bytes of a regular file or the target of a symbolic link. Errors do not name the path.
    fn content(&self, node: &Self::Node) -> anyhow::Result<Box<dyn Bytes + '_>>;

    /// An error at a path.
    fn refuse(&self, path: &[u8], problem: &str) -> anyhow::Error;

    /// Adds a path to an error.
    fn at(&self, path: &[u8], error: anyhow::Error) -> anyhow::Error;
}

/// An entry of a directory.
pub(crate) struct Entry<I> {
    pub(crate) name: Vec<u8>,
    /// As far as it is known without the file.
    pub(crate) file_type: Option<FileType>,
    pub(crate) id: I,
}

pub(crate) type Entries<'a, I> = Box<dyn Iterator<Item = anyhow::Result<Entry<I>>> + 'a>;

/// Bytes that can be read at any position.
pub(crate) trait Bytes {
    fn size(&self) -> u64;

    /// Fills a buffer from a position on.
    fn read_at(&self, buf: &mut [u8], position: u64) -> anyhow::Result<()>;
}
