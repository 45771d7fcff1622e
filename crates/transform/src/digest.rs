//! Defines the attribute that records the SHA-256 of a file's content, and [`record_digests`], which adds it to a tree.

use std::num::NonZeroUsize;

use lith_parallel::try_map;
use lith_tree::{ContentError, Contents, Filesystem, InodeIndex, Kind, Piece, Pieces, Tree};
use sha2::{Digest, Sha256};

/// The usual name of the attribute.
pub const DIGEST_NAME: &[u8] = b"erofs.fingerprint.v1";

/// The beginning of the attribute's value; 32 bytes of SHA-256 follow.
const ALGORITHM: &[u8] = b"sha256:";

/// Bytes read and hashed at once.
const BUFFER: usize = 128 << 10;

/// Zeros of a hole that are hashed at once.
const ZEROS: &[u8] = &[0; 64 << 10];

/// Computes the attribute's value for the content of a file, which is passed from its start to its end.
#[derive(Clone, Debug, Default)]
pub struct ContentDigest(Sha256);

impl ContentDigest {
    /// Adds the next bytes of the file.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Adds the zeros of a hole of `length` bytes.
    pub fn update_zeros(&mut self, mut length: u64) {
        while length > 0 {
            let step = usize::try_from(length).map_or(ZEROS.len(), |left| left.min(ZEROS.len()));
            let (zeros, _) = ZEROS.split_at(step);
            self.update(zeros);
            length -= step as u64;
        }
    }

    /// The attribute's value.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        [ALGORITHM, &self.0.finalize()].concat()
    }

    /// Whether `value` has the form of a value that [`Self::finish`] returns.
    #[must_use]
    pub fn is_value(value: &[u8]) -> bool {
        value.strip_prefix(ALGORITHM).is_some_and(|digest| digest.len() == 32)
    }
}

/// Gives every regular file of `tree` that is not empty an attribute `name` with the digest of its content. Files
/// whose content the image only refers to are left out.
///
/// # Errors
/// [`ContentError`] of the first file that can't be read.
pub fn record_digests(
    tree: &mut Tree,
    contents: &dyn Contents,
    name: &[u8],
    workers: NonZeroUsize,
) -> Result<(), ContentError> {
    let mut files: Vec<InodeIndex> = tree
        .walk()
        .map(|visit| visit.inode)
        .filter(|inode| matches!(tree.get(*inode).kind, Kind::Regular { size: 1.. }))
        .collect();
    files.sort_unstable();
    files.dedup();
    let fs = Filesystem::new(tree, contents);
    let buffer = || vec![0; BUFFER];
    let digests = try_map(&files, workers, buffer, |buffer, inode| digest_of(fs, *inode, buffer))?;
    for (inode, digest) in files.into_iter().zip(digests) {
        if let Some(digest) = digest {
            tree.add_xattr(inode, name, &digest);
        }
    }
    Ok(())
}

/// The attribute of a file; `None` if its content is stored on another device.
fn digest_of(
    fs: Filesystem<'_>,
    inode: InodeIndex,
    buffer: &mut [u8],
) -> Result<Option<Vec<u8>>, ContentError> {
    let Kind::Regular { size } = fs.tree.get(inode).kind else { return Ok(None) };
    let content = fs.open(inode)?;
    if content.elsewhere()?.is_some() {
        return Ok(None);
    }
    let mut digest = ContentDigest::default();
    let mut pieces = Pieces::new(&*content, 0..size, buffer);
    while let Some(piece) = pieces.advance()? {
        match piece {
            Piece::Data { bytes, .. } => digest.update(bytes),
            Piece::Hole { length, .. } => digest.update_zeros(length),
        }
    }
    content.check_unchanged()?;
    Ok(Some(digest.finish()))
}

#[cfg(test)]
mod tests {
    use lith_tree::{MemoryContents, Metadata, Name};

    use super::*;

    const WORKERS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(2);

    fn sample() -> (Tree, MemoryContents) {
        let (mut tree, mut contents) = (Tree::new(Metadata::default()), MemoryContents::default());
        for (name, bytes) in
            [("abc", b"abc".to_vec()), ("empty", Vec::new()), ("zeros", vec![0; 100_000])]
        {
            let place = (InodeIndex::ROOT, Name::new(name.as_bytes()).unwrap());
            contents.add(&mut tree, place, Metadata::default(), bytes).unwrap();
        }
        let sparse = Name::new(b"sparse").unwrap();
        let kind = Kind::Regular { size: 100_000 };
        let sparse = tree.add(InodeIndex::ROOT, sparse, Metadata::default(), kind).unwrap();
        contents.insert_sparse(sparse, 100_000, [(500, &[0; 5][..])]);
        (tree, contents)
    }

    #[test]
    fn content_counts_whether_stored_or_not() {
        let (mut tree, contents) = sample();
        record_digests(&mut tree, &contents, DIGEST_NAME, WORKERS).unwrap();
        let digest = |path: &str| {
            let inode = tree.get(tree.find(path.as_bytes()).unwrap());
            tree.xattrs.get(inode.metadata.xattrs).first().map(|xattr| &*xattr.value)
        };
        let abc = digest("abc").unwrap();
        assert_eq!(abc.get(..11), Some(&b"sha256:\xba\x78\x16\xbf"[..]));
        assert!(ContentDigest::is_value(abc) && !ContentDigest::is_value(&[abc, b"x"].concat()));
        assert_eq!(digest("empty"), None);
        assert_eq!(digest("zeros"), digest("sparse"));
        assert_ne!(digest("zeros"), Some(abc));
    }
}
