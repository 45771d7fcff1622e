//! Which digests of content does an image hold beside its files?
//!
//! Every regular file that is not empty has an attribute with the SHA-256 of its content. The image says which
//! attribute that is; mostly one that Linux does not show.

use std::{
    num::NonZeroUsize,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use lith_format::{addr::Nid, file_type::FileType, xattr::ShortPrefix};
use lith_reader::{Error, Image, Inode};
use lith_source::Source;
use lith_tree::{ContentError, InodeIndex, Kind, Piece, Pieces, Xattr};
use sha2::{Digest, Sha256};

/// The attribute's usual name.
pub const DIGEST_NAME: &[u8] = b"erofs.fingerprint.v1";

/// What stands before the digest in the attribute.
const ALGORITHM: &[u8] = b"sha256:";

/// Bytes that are hashed at once.
const BUFFER: usize = 128 << 10;

/// Zeros of a hole that are hashed at once.
const ZEROS: &[u8] = &[0; 64 << 10];

/// What a file's attribute says of its content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DigestState {
    /// The content has that digest.
    Right,
    /// The content has another digest.
    Wrong,
    /// The attribute holds no digest.
    Unknown,
    /// There is none.
    Missing,
}

/// A file whose content is not vouched for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DigestFinding {
    /// Its path from the root.
    pub path: Vec<u8>,
    /// Its inode.
    pub nid: Nid,
    /// Why; never [`DigestState::Right`].
    pub state: DigestState,
}

/// Gives every regular file of `source` that is not empty an attribute `name` with the digest of its content. Files
/// whose content the image only refers to are left out.
///
/// # Errors
/// [`ContentError`] of the first file that can't be read.
pub fn record_digests(
    source: &mut Source,
    name: &[u8],
    workers: NonZeroUsize,
) -> Result<(), ContentError> {
    let tree = &source.tree;
    let mut files: Vec<InodeIndex> = tree
        .walk()
        .map(|visit| visit.inode)
        .filter(|inode| matches!(tree.get(*inode).kind, Kind::Regular { size: 1.. }))
        .collect();
    files.sort_unstable();
    files.dedup();
    let digests = for_each(&files, workers, |inode| digest_of(source, *inode));
    for (inode, digest) in files.iter().zip(digests) {
        let Some(digest) = digest? else { continue };
        let tree = &mut source.tree;
        let mut xattrs = tree.xattrs.get(tree.get(*inode).metadata.xattrs).to_vec();
        xattrs.push(Xattr { name: name.into(), value: digest.into() });
        tree.get_mut(*inode).metadata.xattrs = tree.xattrs.intern(xattrs);
    }
    Ok(())
}

/// The name of the attribute with digests, if the image says that it has them.
#[must_use]
pub fn digest_name(image: &Image) -> Option<Vec<u8>> {
    let id = image.superblock().ishare_xattr_prefix_id?;
    let prefix = image.xattr_prefixes().prefixes().get(usize::from(id))?;
    let base = ShortPrefix::from_raw(prefix.base)?;
    Some([base.text(), &prefix.infix].concat())
}

/// Compares the content of all regular files that are not empty with their attribute `name`; gives those for which
/// that does not fit, in the order of their paths, each file once.
///
/// # Errors
/// [`Error`] of the first file that can't be read.
pub fn check_digests(
    image: &Image,
    name: &[u8],
    workers: NonZeroUsize,
) -> Result<Vec<DigestFinding>, Error> {
    let mut files = Vec::new();
    let mut met = std::collections::HashSet::new();
    for visit in image.files() {
        let visit = visit?;
        let wanted = visit.inode.file_type == FileType::Regular && visit.inode.size > 0;
        if wanted && met.insert(visit.inode.nid) {
            files.push(visit);
        }
    }
    let states = for_each(&files, workers, |visit| state_of(image, &visit.inode, name));
    let mut findings = Vec::new();
    for (visit, state) in files.into_iter().zip(states) {
        let state = state?;
        if state != DigestState::Right {
            findings.push(DigestFinding { path: visit.path, nid: visit.inode.nid, state });
        }
    }
    Ok(findings)
}

/// The attribute of a file; none if its content lies elsewhere.
fn digest_of(source: &Source, inode: InodeIndex) -> Result<Option<Vec<u8>>, ContentError> {
    let Kind::Regular { size } = source.tree.get(inode).kind else { return Ok(None) };
    let content = source.filesystem().open(inode)?;
    if content.elsewhere()?.is_some() {
        return Ok(None);
    }
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; BUFFER]);
    let mut pieces = Pieces::new(&*content, 0..size, &mut buffer);
    while let Some(piece) = pieces.advance()? {
        match piece {
            Piece::Data { bytes, .. } => hash.update(bytes),
            Piece::Hole { length, .. } => update_zeros(&mut hash, length),
        }
    }
    content.check_unchanged()?;
    Ok(Some(value(hash)))
}

fn state_of(image: &Image, inode: &Inode, name: &[u8]) -> Result<DigestState, Error> {
    let xattrs = image.xattrs_with_hidden(inode)?;
    let Some(found) = xattrs.into_iter().find(|xattr| xattr.name == name) else {
        return Ok(DigestState::Missing);
    };
    if !found.value.starts_with(ALGORITHM) || found.value.len() != ALGORITHM.len() + 32 {
        return Ok(DigestState::Unknown);
    }
    let file = image.file(inode)?;
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; BUFFER]);
    let mut position = 0;
    while position < inode.size {
        let left = usize::try_from(inode.size - position).unwrap_or(BUFFER).min(BUFFER);
        let bytes = buffer.get_mut(..left).unwrap_or_default();
        file.read_at(bytes, position)?;
        hash.update(&*bytes);
        position += left as u64;
    }
    let right = value(hash) == found.value;
    Ok(if right { DigestState::Right } else { DigestState::Wrong })
}

fn value(hash: Sha256) -> Vec<u8> {
    [ALGORITHM, &hash.finalize()].concat()
}

fn update_zeros(hash: &mut Sha256, mut length: u64) {
    while length > 0 {
        let step = usize::try_from(length).unwrap_or(ZEROS.len()).min(ZEROS.len());
        hash.update(ZEROS.get(..step).unwrap_or_default());
        length -= step as u64;
    }
}

/// Does something with each item, several at once; the results are in the order of the items, up to the first failure
/// at least.
fn for_each<T: Sync, R: Send, E: Send>(
    items: &[T],
    workers: NonZeroUsize,
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Vec<Result<R, E>> {
    let next = AtomicUsize::new(0);
    let some = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(number) else { return done };
            let result = work(item);
            if result.is_err() {
                // Nobody needs what comes behind.
                next.fetch_max(items.len(), Ordering::Relaxed);
            }
            done.push((number, result));
        }
    };
    let mut done: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..workers.get()).map(|_| scope.spawn(some)).collect();
        let joined = threads.into_iter();
        joined.flat_map(|t| t.join().unwrap_or_else(|p| std::panic::resume_unwind(p))).collect()
    });
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use lith_device::{FileDevice, MemoryDevice};
    use lith_tree::{MemoryContents, Metadata, Name, Tree};

    use super::*;

    const WORKERS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(2);

    fn source() -> Source {
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
        Source { tree, contents: Box::new(contents), notes: Vec::new() }
    }

    fn digest(source: &Source, path: &str) -> Option<Vec<u8>> {
        let tree = &source.tree;
        let inode = tree.get(tree.find(path.as_bytes()).unwrap());
        tree.xattrs.get(inode.metadata.xattrs).first().map(|xattr| xattr.value.to_vec())
    }

    #[test]
    fn content_counts_whether_stored_or_not() {
        let mut source = source();
        record_digests(&mut source, DIGEST_NAME, WORKERS).unwrap();
        let abc = digest(&source, "abc").unwrap();
        assert_eq!(abc.len(), 39);
        assert_eq!(abc.get(..11), Some(&b"sha256:\xba\x78\x16\xbf"[..]));
        assert_eq!(digest(&source, "empty"), None);
        assert_eq!(digest(&source, "zeros"), digest(&source, "sparse"));
        assert_ne!(digest(&source, "zeros"), Some(abc));
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
        record_digests(&mut source, name, WORKERS).unwrap();
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
