//! Writes a whole tree as canonical text, one line for each name.
//!
//! A line has these fields, separated by a space, `-` where a field has no meaning:
//!
//! ```text
//! path type mode uid gid mtime.sec mtime.nsec nlink size rdev sha256 target xattrs first
//! ```
//!
//! The mode is octal without the type; a directory has no size; xattrs are `name=hex` with commas between
//! them; `first` is the first path of the same inode where that isn't this path itself. In paths, targets and
//! names of xattrs each byte that isn't a visible ASCII character, and each of `\ , =`, is written `\xNN`.
//! Lines are in ascending order of their paths' bytes, and the root is `/`. `tests/golden/tree.py` writes the same text
//! for a directory.

use std::{
    collections::HashMap,
    fmt,
    io::{self, Write},
    path::Path,
};

use lith_observer::{Observer, Phase};
use sha2::{Digest, Sha256};

use crate::{
    ContentError, Directory, Filesystem, Inode, InodeIndex, Kind, Piece, Pieces, Rdev, Tree, Xattr,
};

/// Why a tree can't be written as text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DumpError {
    /// A file's bytes can't be read.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The text can't be written.
    #[error("cannot write the text")]
    Write(#[source] io::Error),
}

impl DumpError {
    /// The path of the file that can't be read.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Content(error) => Some(error.path()),
            Self::Write(_) => None,
        }
    }
}

/// Writes the canonical text of a tree, with the SHA-256 of each regular file's bytes.
///
/// # Errors
/// [`DumpError`] if bytes can't be read or text can't be written.
pub fn dump(fs: Filesystem<'_>, output: &mut dyn Write) -> Result<(), DumpError> {
    dump_observed(fs, output, &())
}

/// As [`dump`], with an observer of the bytes that are read.
///
/// # Errors
/// As [`dump`].
pub fn dump_observed(
    fs: Filesystem<'_>,
    output: &mut dyn Write,
    observer: &dyn Observer,
) -> Result<(), DumpError> {
    dump_rows(fs, &mut |row| writeln!(output, "{row}"), observer)?;
    output.flush().map_err(DumpError::Write)
}

/// Calls `write` for each line of [`dump`].
///
/// # Errors
/// As [`dump`]; an error of `write` is [`DumpError::Write`].
pub fn dump_rows(
    fs: Filesystem<'_>,
    write: &mut dyn FnMut(&DumpRow<'_>) -> io::Result<()>,
    observer: &dyn Observer,
) -> Result<(), DumpError> {
    let tree = fs.tree;
    observer.begin(Phase::Comparing);
    observer.expect(tree.content_bytes());
    let mut buffer = vec![0; 1 << 20];
    let mut linked = HashMap::<InodeIndex, (Box<[u8]>, Hash)>::new();
    let mut paths = PathOrder::new(tree);
    while let Some((path, index)) = paths.advance() {
        let known = linked.get(&index);
        let (first, hash) = match known {
            Some((first, hash)) => (Some(&**first), *hash),
            None => (None, hash(fs, index, (&mut buffer, observer))?),
        };
        let inode = tree.get(index);
        let xattrs = tree.xattrs.get(inode.metadata.xattrs);
        let row = DumpRow { path, inode, xattrs, hash, first };
        write(&row).map_err(DumpError::Write)?;
        if known.is_none() && inode.as_directory().is_none() && inode.nlink() > 1 {
            linked.insert(index, (path.into(), hash));
        }
    }
    Ok(())
}

type Hash = Option<[u8; 32]>;

fn hash(
    fs: Filesystem<'_>,
    inode: InodeIndex,
    (buffer, observer): (&mut [u8], &dyn Observer),
) -> Result<Hash, ContentError> {
    let Kind::Regular { size } = fs.tree.get(inode).kind else {
        return Ok(None);
    };
    let content = fs.open(inode)?;
    let mut sha = Sha256::new();
    let mut pieces = Pieces::new(&*content, 0..size, buffer);
    while let Some(piece) = pieces.advance()? {
        match piece {
            Piece::Data { bytes, .. } => {
                sha.update(bytes);
                observer.advance(bytes.len() as u64);
            }
            Piece::Hole { length, .. } => {
                update_with_zeros(&mut sha, length);
                observer.advance(length);
            }
        }
    }
    content.check_unchanged()?;
    Ok(Some(sha.finalize().into()))
}

fn update_with_zeros(sha: &mut Sha256, mut length: u64) {
    static ZEROS: [u8; 1 << 12] = [0; 1 << 12];
    while length > 0 {
        let count = usize::try_from(length).map_or(ZEROS.len(), |left| left.min(ZEROS.len()));
        let (zeros, _) = ZEROS.split_at(count);
        sha.update(zeros);
        length -= count as u64;
    }
}

/// A line of [`dump`], as which it prints itself.
#[derive(Clone, Copy, Debug)]
pub struct DumpRow<'a> {
    /// The path from the root, with a slash at its start.
    pub path: &'a [u8],
    /// What it leads to.
    pub inode: &'a Inode,
    /// All extended attributes, sorted.
    pub xattrs: &'a [Xattr],
    /// The SHA-256 of a regular file's bytes.
    pub hash: Option<[u8; 32]>,
    /// The first path of the same inode, if that isn't this one.
    pub first: Option<&'a [u8]>,
}

impl fmt::Display for DumpRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inode { metadata, kind, .. } = self.inode;
        write!(f, "{} {} ", Field(self.path), kind.letter())?;
        write!(f, "{:04o} ", metadata.permissions)?;
        write!(f, "{} {} ", metadata.uid, metadata.gid)?;
        write!(f, "{} {} ", metadata.mtime.sec, metadata.mtime.nsec)?;
        write!(f, "{} ", self.inode.nlink())?;
        write_size(f, kind)?;
        write_rdev(f, kind)?;
        write_hash(f, self.hash)?;
        match kind {
            Kind::Symlink(target) => write!(f, " {}", Field(target))?,
            _ => f.write_str(" -")?,
        }
        write_xattrs(f, self.xattrs)?;
        match self.first {
            Some(first) => write!(f, " {}", Field(first)),
            None => f.write_str(" -"),
        }
    }
}

fn write_size(f: &mut fmt::Formatter<'_>, kind: &Kind) -> fmt::Result {
    match kind {
        Kind::Directory(_) => f.write_str("-"),
        Kind::Regular { size } => write!(f, "{size}"),
        Kind::Symlink(target) => write!(f, "{}", target.len()),
        _ => f.write_str("0"),
    }
}

fn write_rdev(f: &mut fmt::Formatter<'_>, kind: &Kind) -> fmt::Result {
    match kind {
        Kind::CharDevice(Rdev { major, minor }) | Kind::BlockDevice(Rdev { major, minor }) => {
            write!(f, " {major}:{minor}")
        }
        _ => f.write_str(" -"),
    }
}

fn write_hash(f: &mut fmt::Formatter<'_>, hash: Hash) -> fmt::Result {
    match hash {
        Some(hash) => write!(f, " {}", Hex(&hash)),
        None => f.write_str(" -"),
    }
}

fn write_xattrs(f: &mut fmt::Formatter<'_>, xattrs: &[Xattr]) -> fmt::Result {
    if xattrs.is_empty() {
        return f.write_str(" -");
    }
    for (number, Xattr { name, value }) in xattrs.iter().enumerate() {
        let separator = if number == 0 { ' ' } else { ',' };
        write!(f, "{separator}{}={}", Field(name), Hex(value))?;
    }
    Ok(())
}

/// Prints bytes with the escapes of a line.
struct Field<'a>(&'a [u8]);

impl fmt::Display for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0 {
            match byte {
                b'\\' | b',' | b'=' => write!(f, "\\x{byte:02x}")?,
                b'!'..=b'~' => write!(f, "{}", char::from(*byte))?,
                _ => write!(f, "\\x{byte:02x}")?,
            }
        }
        Ok(())
    }
}

struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Visits all names in ascending order of the bytes of their paths.
///
/// That is not the order of [`Tree::walk`]: `a.b` sorts between the directory `a` and its entry `a/b`. So each directory
/// appears twice among its parent's entries: by its name for itself, and with a slash after the name for its entries.
struct PathOrder<'a> {
    tree: &'a Tree,
    stack: Vec<Level<'a>>,
    path: Vec<u8>,
    started: bool,
}

struct Level<'a> {
    entries: std::vec::IntoIter<Entry<'a>>,
    /// The length of the directory's own path.
    prefix: usize,
}

struct Entry<'a> {
    name: &'a [u8],
    inode: InodeIndex,
    inside: Option<&'a Directory>,
}

impl Entry<'_> {
    fn key(&self) -> impl Iterator<Item = u8> {
        let slash = self.inside.map(|_| b'/');
        self.name.iter().copied().chain(slash)
    }
}

impl<'a> PathOrder<'a> {
    fn new(tree: &'a Tree) -> Self {
        let mut order = Self { tree, stack: Vec::new(), path: Vec::new(), started: false };
        if let Some(root) = tree.get(InodeIndex::ROOT).as_directory() {
            order.descend(root);
        }
        order
    }

    fn descend(&mut self, directory: &'a Directory) {
        let mut entries = Vec::with_capacity(directory.len());
        for (name, inode) in directory.entries() {
            let name = name.as_bytes();
            let inside = self.tree.get(inode).as_directory();
            let entry = |inside| Entry { name, inode, inside };
            entries.push(entry(None));
            entries.extend(inside.map(|inside| entry(Some(inside))));
        }
        entries.sort_by(|a, b| a.key().cmp(b.key()));
        let prefix = self.path.len();
        let entries = entries.into_iter();
        self.stack.push(Level { entries, prefix });
    }

    /// The next path, with a slash before each name, and its inode.
    fn advance(&mut self) -> Option<(&[u8], InodeIndex)> {
        if !std::mem::replace(&mut self.started, true) {
            return Some((b"/", InodeIndex::ROOT));
        }
        loop {
            let level = self.stack.last_mut()?;
            self.path.truncate(level.prefix);
            let Some(entry) = level.entries.next() else {
                self.stack.pop();
                continue;
            };
            self.path.push(b'/');
            self.path.extend_from_slice(entry.name);
            match entry.inside {
                Some(directory) => self.descend(directory),
                None => return Some((&self.path, entry.inode)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::{MemoryContents, Metadata, Name, Timestamp};

    fn name(name: &str) -> Name {
        Name::new(name.as_bytes()).unwrap()
    }

    fn text(tree: &Tree, contents: &MemoryContents) -> String {
        let mut text = Vec::new();
        dump(Filesystem::new(tree, contents), &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    const HELLO: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

    #[test]
    fn every_field_is_written_in_order() {
        let mut tree = Tree::new(Metadata::default());
        let mut contents = MemoryContents::default();
        let root = InodeIndex::ROOT;
        let xattr = Xattr { name: b"user.a b".as_slice().into(), value: [0, 255].into() };
        let metadata = Metadata {
            permissions: 0o4755,
            uid: 1,
            gid: 2,
            mtime: Timestamp { sec: -2, nsec: 5 },
            xattrs: tree.xattrs.intern(vec![xattr]),
        };
        let plain = Metadata::default();
        let place = (root, name("b,="));
        let file = contents.add(&mut tree, place, metadata, *b"hello").unwrap();
        tree.link(root, name("ü"), file).unwrap();
        let link = Kind::Symlink(b"to \xff".as_slice().into());
        tree.add(root, name("a"), plain, link).unwrap();
        let device = Kind::CharDevice(Rdev { major: 1, minor: 3 });
        tree.add(root, name("null"), plain, device).unwrap();
        assert_eq!(
            text(&tree, &contents),
            format!(
                "/ d 0000 0 0 0 0 2 - - - - - -\n\
                 /a l 0000 0 0 0 0 1 4 - - to\\x20\\xff - -\n\
                 /b\\x2c\\x3d f 4755 1 2 -2 5 2 5 - {HELLO} - user.a\\x20b=00ff -\n\
                 /null c 0000 0 0 0 0 1 0 1:3 - - - -\n\
                 /\\xc3\\xbc f 4755 1 2 -2 5 2 5 - {HELLO} - user.a\\x20b=00ff /b\\x2c\\x3d\n"
            )
        );
    }

    #[test]
    fn holes_hash_as_zeros() {
        let mut tree = Tree::new(Metadata::default());
        let mut contents = MemoryContents::default();
        let (root, plain) = (InodeIndex::ROOT, Metadata::default());
        let size = (1 << 20) + 12_345;
        let mut bytes = vec![0; size];
        bytes[70_000] = 1;
        contents.add(&mut tree, (root, name("dense")), plain, bytes).unwrap();
        let kind = Kind::Regular { size: size as u64 };
        let sparse = tree.add(root, name("sparse"), plain, kind).unwrap();
        contents.insert_sparse(sparse, size as u64, [(70_000, &[1][..])]);
        let kind = Kind::Regular { size: 0 };
        tree.add(root, name("none"), plain, kind).unwrap();
        let text = text(&tree, &contents);
        let hashes: Vec<_> = text.lines().map(|line| line.split(' ').nth(10).unwrap()).collect();
        assert_eq!(hashes[1], hashes[3]);
        assert_eq!(hashes[2], EMPTY);
    }

    proptest! {
        #[test]
        fn lines_are_in_the_order_of_their_paths(paths in vec(vec("[ab.\\-/0]{1,3}", 1..5), 0..20)) {
            let mut tree = Tree::new(Metadata::default());
            for path in paths {
                let mut at = InodeIndex::ROOT;
                for part in path.iter().flat_map(|part| part.split('/')) {
                    let Ok(part) = Name::new(part.as_bytes()) else { continue };
                    let there = tree.get(at).as_directory().unwrap().get(part.as_bytes());
                    at = there.unwrap_or_else(|| tree.add(at, part, Metadata::default(), Kind::directory()).unwrap());
                }
            }
            let mut order = PathOrder::new(&tree);
            let mut seen = Vec::new();
            while let Some((path, inode)) = order.advance() {
                prop_assert_eq!(tree.find(path), Some(inode));
                seen.push(path.to_vec());
            }
            prop_assert!(seen.is_sorted());
            prop_assert_eq!(seen.len(), tree.walk().count());
        }
    }
}
