//! Compares the content of an image's files with the digests that its attributes record.
//!
//! [`lith_transform::record_digests`] adds the attribute to a tree. The image's superblock names it; mostly it is one that
//! Linux does not list.

use std::{collections::HashSet, num::NonZeroUsize};

use lith_format::{addr::Nid, file_type::FileType, xattr::ShortPrefix};
use lith_parallel::try_map;
use lith_reader::{Error, Image, Inode};
use lith_transform::ContentDigest;

/// Bytes read and hashed at once.
const BUFFER: usize = 128 << 10;

/// How a file's content compares with its attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DigestState {
    /// The content has the recorded digest.
    Right,
    /// The content has a different digest.
    Wrong,
    /// The attribute's value is not a digest.
    Unknown,
    /// The file has no such attribute.
    Missing,
}

/// A file whose content has no matching digest.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DigestFinding {
    /// Its path from the root.
    pub path: Vec<u8>,
    /// Its inode.
    pub nid: Nid,
    /// Why; never [`DigestState::Right`].
    pub state: DigestState,
}

/// The name of the attribute with digests; `None` if the superblock names none.
#[must_use]
pub fn digest_name(image: &Image) -> Option<Vec<u8>> {
    let id = image.superblock().ishare_xattr_prefix_id?;
    let prefix = image.xattr_prefixes().prefixes().get(usize::from(id))?;
    let base = ShortPrefix::from_raw(prefix.base)?;
    Some([base.text(), &prefix.infix].concat())
}

/// Compares the content of all regular files that are not empty with their attribute `name`. Returns those that don't match,
/// in the order of their paths, each file once.
///
/// # Errors
/// [`Error`] of the first file that can't be read.
pub fn check_digests(
    image: &Image,
    name: &[u8],
    workers: NonZeroUsize,
) -> Result<Vec<DigestFinding>, Error> {
    let mut files = Vec::new();
    let mut visited = HashSet::new();
    for visit in image.files() {
        let visit = visit?;
        let wanted = visit.inode.file_type == FileType::Regular && visit.inode.size > 0;
        if wanted && visited.insert(visit.inode.nid) {
            files.push(visit);
        }
    }
    let buffer = || vec![0; BUFFER];
    let states = try_map(&files, workers, buffer, |buffer, visit| {
        state_of(image, &visit.inode, name, buffer)
    })?;
    let findings = files.into_iter().zip(states).filter(|(_, state)| *state != DigestState::Right);
    Ok(findings
        .map(|(visit, state)| DigestFinding { path: visit.path, nid: visit.inode.nid, state })
        .collect())
}

fn state_of(
    image: &Image,
    inode: &Inode,
    name: &[u8],
    buffer: &mut [u8],
) -> Result<DigestState, Error> {
    let xattrs = image.xattrs_with_hidden(inode)?;
    let Some(found) = xattrs.into_iter().find(|xattr| xattr.name == name) else {
        return Ok(DigestState::Missing);
    };
    if !ContentDigest::is_value(&found.value) {
        return Ok(DigestState::Unknown);
    }
    let file = image.file(inode)?;
    let mut digest = ContentDigest::default();
    let mut position = 0;
    while position < inode.size {
        let left = usize::try_from(inode.size - position);
        let length = left.map_or(buffer.len(), |left| left.min(buffer.len()));
        let (bytes, _) = buffer.split_at_mut(length);
        file.read_at(bytes, position)?;
        digest.update(bytes);
        position += length as u64;
    }
    let right = digest.finish() == found.value;
    Ok(if right { DigestState::Right } else { DigestState::Wrong })
}

#[cfg(test)]
mod tests {
    use lith_device::{FileDevice, MemoryDevice};
    use lith_source::Source;
    use lith_transform::{DIGEST_NAME, record_digests};
    use lith_tree::{InodeIndex, MemoryContents, Metadata, Name, Tree};

    use super::*;

    const WORKERS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(2);

    fn source() -> Source {
        let (mut tree, mut contents) = (Tree::new(Metadata::default()), MemoryContents::default());
        let place = (InodeIndex::ROOT, Name::new(b"abc").unwrap());
        contents.add(&mut tree, place, Metadata::default(), b"abc".to_vec()).unwrap();
        Source { tree, contents: Box::new(contents), notes: Vec::new() }
    }

    fn digest(source: &Source, path: &str) -> Option<Vec<u8>> {
        let tree = &source.tree;
        let inode = tree.get(tree.find(path.as_bytes()).unwrap());
        tree.xattrs.get(inode.metadata.xattrs).first().map(|xattr| xattr.value.to_vec())
    }

    #[test]
    fn images_are_compared_with_what_they_record() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/01-plain.erofs");
        let image = Image::open(FileDevice::open(path).unwrap()).unwrap();
        assert_eq!(digest_name(&image), None);
        let findings = check_digests(&image, DIGEST_NAME, WORKERS).unwrap();
        assert!(!findings.is_empty());
        assert!(findings.iter().all(|finding| finding.state == DigestState::Missing));
    }

    #[test]
    fn a_changed_byte_is_found() {
        let mut source = source();
        let name = b"user.digest";
        record_digests(&mut source.tree, &*source.contents, name, WORKERS).unwrap();
        let file = tempfile::tempfile().unwrap();
        let options = lith_builder::Options::uncompressed();
        let context = lith_builder::Context::new(std::path::Path::new("."));
        lith_builder::build(source.filesystem(), (&file).into(), &options, &context).unwrap();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut &file, &mut bytes).unwrap();
        let image = Image::open(MemoryDevice::new(bytes.clone())).unwrap();
        assert_eq!(check_digests(&image, name, WORKERS).unwrap(), []);
        let digest = digest(&source, "abc").unwrap();
        let at = bytes.windows(39).position(|window| window == digest).unwrap();
        if let Some(byte) = bytes.get_mut(at + 20) {
            *byte ^= 1;
        }
        // The superblock's checksum is of the first block, which holds the attribute.
        let compat = bytes.get_mut(1024 + 8).unwrap();
        *compat &= !1;
        let image = Image::open(MemoryDevice::new(bytes)).unwrap();
        let findings = check_digests(&image, name, WORKERS).unwrap();
        let found: Vec<_> = findings.iter().map(|f| (&*f.path, &f.state)).collect();
        assert_eq!(found, [(&b"abc"[..], &DigestState::Wrong)]);
    }
}
