//! How does an EROFS image become a tree? Defines [`image()`], which walks it.

mod contents;
mod referred;

use std::{collections::HashMap, path::Path, sync::Arc, vec};

use lith_format::{addr::Nid, file_type::FileType, inode::InodeData};
use lith_reader::{DirEntry, Image, Inode, ReadDir};
use lith_tree::{
    DisplayPath, InodeIndex, Kind, Metadata, Name, NameError, Rdev, Timestamp, Tree, TreeError,
    Xattr, push_name,
};

use crate::{
    Data, Note, NoteKind, OnError, Options, Source, namespace,
    note::Notes,
    prune::{Fate, remove_empty},
};
use contents::ImageContents;
use referred::Referred;

/// The most nanoseconds; a corrupt inode may have more.
const NSEC_MAX: u32 = 999_999_999;

/// Why an image can't be read as a tree. Paths are from its root.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// An inode or a directory can't be read.
    #[error("{}: cannot be read from the image", DisplayPath(path))]
    Read {
        /// The file.
        path: Vec<u8>,
        /// The error of the reader.
        source: Box<lith_reader::Error>,
    },
    /// A directory is inside itself or has two names.
    #[error("{} and {} are one directory, inode {nid}", DisplayPath(first), DisplayPath(second))]
    DirectoryTwice {
        /// Its NID.
        nid: Nid,
        /// Its first path; empty for the root.
        first: Vec<u8>,
        /// Its second path.
        second: Vec<u8>,
    },
    /// A file has an impossible name.
    #[error("{}: has an impossible name", DisplayPath(path))]
    Name {
        /// The directory.
        path: Vec<u8>,
        /// What is wrong with the name.
        source: NameError,
    },
    /// A directory has `.` or `..` twice, or not as a directory.
    #[error("{}: the name is damaged: it leads to inode {nid}", DisplayPath(path))]
    Dots {
        /// What the path of the file became.
        path: Vec<u8>,
        /// The file that has lost its name.
        nid: Nid,
    },
    /// A file can't be added to the tree.
    #[error("{}: cannot be added to the tree", DisplayPath(path))]
    Tree {
        /// The file.
        path: Vec<u8>,
        /// Why.
        source: TreeError,
    },
}

impl ImageError {
    /// What is wrong, without the path.
    fn reason(&self) -> String {
        match self {
            Self::Read { source, .. } => chain(source),
            Self::DirectoryTwice { first, .. } => {
                format!("is the same directory as {}", DisplayPath(first))
            }
            Self::Dots { nid, .. } => format!("the name is damaged: it leads to inode {nid}"),
            Self::Name { source, .. } => source.to_string(),
            Self::Tree { source, .. } => source.to_string(),
        }
    }

    /// The path of the file concerned, from the image's root.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Read { path, .. }
            | Self::DirectoryTwice { second: path, .. }
            | Self::Dots { path, .. }
            | Self::Name { path, .. }
            | Self::Tree { path, .. } => lith_system::path(path),
        }
    }
}

/// Reads the tree of an image; `path` is its name in errors about the bytes of its files.
///
/// # Errors
/// [`ImageError`] names the first path that can't be read or is corrupt.
pub fn image(image: Arc<Image>, path: &Path, options: &Options) -> Result<Source, ImageError> {
    let root = image.root().map_err(cannot_read(b""))?;
    image_below(image, &root, path, options)
}

/// As [`image()`], but reads only one directory, which becomes the root.
///
/// # Errors
/// As [`image()`].
pub fn image_below(
    image: Arc<Image>,
    directory: &Inode,
    path: &Path,
    options: &Options,
) -> Result<Source, ImageError> {
    let mut walker = Walker::new(&image, options);
    walker.set_root(directory)?;
    let parts = walker.walk()?;
    Ok(source(image, path, options, parts))
}

/// As [`image()`], but reads only one file, which is not a directory. It gets a name in a root without attributes.
///
/// # Errors
/// As [`image()`].
pub fn image_file(
    image: Arc<Image>,
    (file, name): (&Inode, Name),
    path: &Path,
    options: &Options,
) -> Result<Source, ImageError> {
    let mut walker = Walker::new(&image, options);
    walker.path = name.as_bytes().to_vec();
    walker.add_inode((InodeIndex::ROOT, Fate::Taken), name, file)?;
    let parts = walker.walk()?;
    Ok(source(image, path, options, parts))
}

fn source(
    image: Arc<Image>,
    path: &Path,
    options: &Options,
    (tree, nids, notes): (Tree, Vec<Nid>, Vec<Note>),
) -> Source {
    image.expect_all_files(options.workers);
    let referred = (options.data == Data::Refer).then(|| Referred::new(&image));
    let contents = ImageContents { image, nids, path: path.to_owned(), referred };
    Source { tree, contents: Box::new(contents), notes }
}

/// A directory whose entries are being added.
struct Level {
    directory: InodeIndex,
    fate: Fate,
    /// The length of its path.
    path: usize,
    entries: vec::IntoIter<DirEntry>,
}

struct Walker<'a> {
    image: &'a Image,
    options: &'a Options,
    tree: Tree,
    /// By inode.
    nids: Vec<Nid>,
    /// The inodes visited so far.
    known: HashMap<Nid, InodeIndex>,
    stack: Vec<Level>,
    /// The path of the file being added: one for all levels, because a chain of directories can be long.
    path: Vec<u8>,
    /// Directories that are left out if they are empty.
    provisional: Vec<InodeIndex>,
    notes: Notes,
}

impl<'a> Walker<'a> {
    fn new(image: &'a Image, options: &'a Options) -> Self {
        Self {
            image,
            options,
            tree: Tree::new(Metadata::default()),
            nids: vec![Nid::default()],
            known: HashMap::new(),
            stack: Vec::new(),
            path: Vec::new(),
            provisional: Vec::new(),
            notes: Notes::default(),
        }
    }

    fn set_root(&mut self, directory: &Inode) -> Result<(), ImageError> {
        self.nids = vec![directory.nid];
        self.known.insert(directory.nid, InodeIndex::ROOT);
        let metadata = self.metadata(directory)?;
        self.tree.get_mut(InodeIndex::ROOT).metadata = metadata;
        self.descend((InodeIndex::ROOT, Fate::Taken), directory)
    }

    fn walk(mut self) -> Result<(Tree, Vec<Nid>, Vec<Note>), ImageError> {
        while let Some(level) = self.stack.last_mut() {
            self.path.truncate(level.path);
            let Some(entry) = level.entries.next() else {
                self.stack.pop();
                continue;
            };
            let (parent, above) = (level.directory, level.fate);
            let is_directory = entry.file_type == Some(FileType::Directory);
            let named = (&*self.path, &*entry.name);
            let fate = Fate::new(&self.options.exclude, above, named, is_directory);
            if fate != Fate::LeftOut {
                push_name(&mut self.path, &entry.name);
                self.add_or_note((parent, fate), &entry)?;
            }
        }
        remove_empty(&mut self.tree, &self.provisional);
        Ok((self.tree, self.nids, self.notes.into_vec()))
    }

    /// Adds the last name of the path. What can't be read is left out, if the options say so.
    fn add_or_note(&mut self, at: (InodeIndex, Fate), entry: &DirEntry) -> Result<(), ImageError> {
        let error = match self.add(at, entry) {
            Err(error) if self.options.on_error == OnError::Skip => error,
            added => return added,
        };
        self.notes.add_unreadable(&self.path, error.reason());
        Ok(())
    }

    /// Adds the last name of the path, of a file with a fate, and descends into a new directory.
    fn add(
        &mut self,
        (parent, fate): (InodeIndex, Fate),
        entry: &DirEntry,
    ) -> Result<(), ImageError> {
        let named = Name::new(&entry.name);
        let name = named.map_err(|source| ImageError::Name { path: self.path.clone(), source })?;
        let known = self.known.get(&entry.nid).copied();
        if let Some(known) = known
            && self.tree.get(known).as_directory().is_some()
        {
            let (nid, first) = (entry.nid, self.tree.path(known));
            return Err(ImageError::DirectoryTwice { nid, first, second: self.path.clone() });
        }
        if let Some(known) = known.filter(|_| !self.options.dereference_hard_links) {
            return self.tree.link(parent, name, known).map_err(|source| self.not_added(source));
        }
        let inode = self.image.inode(entry.nid).map_err(cannot_read(&self.path))?;
        self.add_inode((parent, fate), name, &inode)
    }

    /// Adds a new inode by the last name of the path.
    fn add_inode(
        &mut self,
        (parent, fate): (InodeIndex, Fate),
        name: Name,
        inode: &Inode,
    ) -> Result<(), ImageError> {
        if fate == Fate::Provisional && inode.file_type != FileType::Directory {
            return Ok(());
        }
        let (metadata, kind) = (self.metadata(inode)?, self.kind(inode)?);
        let added = self.tree.add(parent, name, metadata, kind);
        let index = added.map_err(|source| self.not_added(source))?;
        self.nids.push(inode.nid);
        self.known.insert(inode.nid, index);
        if inode.file_type == FileType::Directory {
            self.provisional.extend((fate == Fate::Provisional).then_some(index));
            self.descend((index, fate), inode)?;
        }
        Ok(())
    }

    fn not_added(&self, source: TreeError) -> ImageError {
        ImageError::Tree { path: self.path.clone(), source }
    }

    fn descend(
        &mut self,
        (directory, fate): (InodeIndex, Fate),
        inode: &Inode,
    ) -> Result<(), ImageError> {
        let entries = self.image.read_dir(inode).map(ReadDir::with_dots);
        let entries = entries.and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let entries = entries.map_err(cannot_read(&self.path))?;
        let (dots, mut entries): (Vec<_>, _) =
            entries.into_iter().partition(DirEntry::is_dot_or_dot_dot);
        self.check_dots(dots)?;
        // They are sorted already, unless the image is corrupt.
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let path = self.path.len();
        self.stack.push(Level { directory, fate, path, entries: entries.into_iter() });
        Ok(())
    }

    /// Checks that no file has lost its name to one of the two that each directory has.
    fn check_dots(&mut self, dots: Vec<DirEntry>) -> Result<(), ImageError> {
        let Some(DirEntry { name, nid, .. }) = misnamed(dots) else { return Ok(()) };
        let mut path = self.path.clone();
        push_name(&mut path, &name);
        let error = ImageError::Dots { path, nid };
        if self.options.on_error != OnError::Skip {
            return Err(error);
        }
        self.notes.add_unreadable(error.path().as_os_str().as_encoded_bytes(), error.reason());
        Ok(())
    }

    fn metadata(&mut self, inode: &Inode) -> Result<Metadata, ImageError> {
        let xattrs = self.xattrs(inode)?;
        Ok(Metadata {
            permissions: inode.mode & 0o7777,
            uid: inode.uid,
            gid: inode.gid,
            mtime: Timestamp { sec: inode.mtime, nsec: inode.mtime_nsec.min(NSEC_MAX) },
            xattrs: self.tree.xattrs.intern(xattrs),
        })
    }

    fn xattrs(&mut self, inode: &Inode) -> Result<Vec<Xattr>, ImageError> {
        if !self.options.xattrs {
            return Ok(Vec::new());
        }
        let xattrs = self.image.xattrs(inode).map_err(cannot_read(&self.path))?;
        let mut kept = Vec::with_capacity(xattrs.len());
        for xattr in xattrs {
            if namespace::is_kept(&xattr.name) {
                kept.push(Xattr { name: xattr.name.into(), value: xattr.value.into() });
            } else {
                self.notes.add(NoteKind::Xattr(xattr.name.into()), &self.path);
            }
        }
        Ok(kept)
    }

    fn kind(&self, inode: &Inode) -> Result<Kind, ImageError> {
        let rdev = match inode.data {
            InodeData::Device(rdev) => Rdev { major: rdev.major, minor: rdev.minor },
            _ => Rdev::default(),
        };
        Ok(match inode.file_type {
            FileType::Regular => Kind::Regular { size: inode.size },
            FileType::Directory => Kind::directory(),
            FileType::Symlink => {
                let target = self.image.read_link(inode).map_err(cannot_read(&self.path))?;
                Kind::Symlink(target.into())
            }
            FileType::CharDevice => Kind::CharDevice(rdev),
            FileType::BlockDevice => Kind::BlockDevice(rdev),
            FileType::Fifo => Kind::Fifo,
            FileType::Socket => Kind::Socket,
        })
    }
}

/// Of entries `.` and `..` one that is neither: it leads to no directory, or is the second of its name.
fn misnamed(dots: Vec<DirEntry>) -> Option<DirEntry> {
    let mut known = Vec::new();
    for dot in dots {
        let leads_elsewhere = dot.file_type.is_some_and(|kind| kind != FileType::Directory);
        if leads_elsewhere || known.contains(&dot.name) {
            return Some(dot);
        }
        known.push(dot.name);
    }
    None
}

/// An error and its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let (mut text, mut next) = (error.to_string(), error.source());
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

fn cannot_read(path: &[u8]) -> impl FnOnce(lith_reader::Error) -> ImageError + use<'_> {
    |source| ImageError::Read { path: path.to_vec(), source: Box::new(source) }
}

#[cfg(test)]
mod tests {
    use lith_device::{FileDevice, MemoryDevice};
    use lith_tree::dump;

    use std::path::PathBuf;

    use super::*;
    use crate::Excludes;

    fn golden(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(name)
    }

    fn read(name: &str, options: &Options) -> Source {
        let path = golden(name);
        let opened = Image::open(FileDevice::open(&path).unwrap()).unwrap();
        image(Arc::new(opened), &path, options).unwrap()
    }

    #[test]
    fn an_image_is_the_tree_it_was_made_from() {
        for (name, text) in [("01-plain", "meta"), ("11-fragments-dedupe", "data")] {
            let source = read(&format!("{name}.erofs"), &Options::default());
            let mut dumped = Vec::new();
            dump(source.filesystem(), &mut dumped).unwrap();
            let expected = std::fs::read(golden(&format!("{text}.txt"))).unwrap();
            assert!(dumped == expected, "{name} differs from {text}.txt");
            assert_eq!(source.notes, []);
        }
    }

    #[test]
    fn a_part_is_a_tree_of_its_own() {
        let path = golden("01-plain.erofs");
        let opened = Arc::new(Image::open(FileDevice::open(&path).unwrap()).unwrap());
        let (whole, options) = (read("01-plain.erofs", &Options::default()), Options::default());
        for visit in opened.files().map(Result::unwrap) {
            let image = Arc::clone(&opened);
            let index = whole.tree.find(&visit.path).unwrap();
            let of_whole = whole.tree.get(index);
            let (part, at) = if visit.inode.file_type == FileType::Directory {
                (image_below(image, &visit.inode, &path, &options).unwrap(), InodeIndex::ROOT)
            } else {
                let named = (&visit.inode, Name::new(b"name").unwrap());
                let part = image_file(image, named, &path, &options).unwrap();
                let at = part.tree.find(b"name").unwrap();
                (part, at)
            };
            let inode = part.tree.get(at);
            assert_eq!(inode.metadata.mtime, of_whole.metadata.mtime);
            assert_eq!(inode.metadata.permissions, of_whole.metadata.permissions);
            let xattrs = |tree: &Tree, inode: &lith_tree::Inode| {
                tree.xattrs.get(inode.metadata.xattrs).to_vec()
            };
            assert_eq!(xattrs(&part.tree, inode), xattrs(&whole.tree, of_whole));
            if let Kind::Regular { size } = inode.kind {
                let bytes = |source: &Source, index| {
                    let mut bytes = vec![0; usize::try_from(size).unwrap()];
                    let content = source.contents.open(&source.tree, index).unwrap();
                    content.read_at(&mut bytes, 0).unwrap();
                    bytes
                };
                assert!(bytes(&part, at) == bytes(&whole, index));
            }
        }
    }

    #[test]
    fn options_are_followed() {
        let options = Options {
            exclude: Excludes::new(["deep", "/text"]).unwrap(),
            xattrs: false,
            dereference_hard_links: true,
            ..Options::default()
        };
        let source = read("01-plain.erofs", &options);
        assert!(source.tree.find(b"deep").is_none() && source.tree.find(b"text").is_none());
        assert!(source.tree.xattrs.is_empty());
        assert_ne!(source.tree.find(b"link-hard"), source.tree.find(b"link-short"));
    }

    #[test]
    fn what_is_stored_as_it_is_can_be_referred_to() {
        let options = Options { data: Data::Refer, ..Options::default() };
        let source = read("02-noinline-data.erofs", &options);
        let bytes = std::fs::read(golden("02-noinline-data.erofs")).unwrap();
        let [device] = &source.contents.devices()[..] else { panic!("one device") };
        assert_eq!((device.bytes, device.tag.len()), (bytes.len() as u64, 32));
        let mut files = 0;
        for visit in source.tree.walk() {
            let Kind::Regular { size: 1.. } = source.tree.get(visit.inode).kind else { continue };
            let content = source.contents.open(&source.tree, visit.inode).unwrap();
            let stretches = content.elsewhere().unwrap().unwrap();
            let mut position = 0;
            for stretch in stretches {
                let (_, at) = stretch.place.unwrap();
                let at = usize::try_from(at).unwrap();
                let mut read = vec![0; usize::try_from(stretch.len).unwrap()];
                content.read_at(&mut read, position).unwrap();
                assert!(read == bytes[at..at + read.len()]);
                position += stretch.len;
            }
            files += 1;
        }
        assert!(files > 0);
        let source = read("03-lz4.erofs", &options);
        let text = source.tree.find(b"text").unwrap();
        let content = source.contents.open(&source.tree, text).unwrap();
        assert_eq!(content.elsewhere().unwrap(), None);
    }

    #[test]
    fn a_directory_inside_itself_is_refused_with_both_paths() {
        let mut bytes = std::fs::read(golden("02-noinline-data.erofs")).unwrap();
        let opened = Image::open(MemoryDevice::new(bytes.clone())).unwrap();
        let (root, one) = (opened.root().unwrap(), opened.resolve(b"one").unwrap());
        // The entry `one/file` gets the root's NID.
        let file = opened.resolve(b"one/file").unwrap().nid.0.to_le_bytes();
        let start = usize::try_from(one.position).unwrap();
        let found = bytes[start..].windows(8).position(|window| window == file).unwrap();
        bytes[start + found..start + found + 8].copy_from_slice(&root.nid.0.to_le_bytes());
        // The directory is in block 0, which has a checksum.
        bytes[1024 + 8] &= !1;
        let opened = Image::open(MemoryDevice::new(bytes)).unwrap();
        let refused = image(Arc::new(opened), Path::new("x"), &Options::default()).unwrap_err();
        let ImageError::DirectoryTwice { first, second, .. } = refused else {
            panic!("{refused:?}")
        };
        assert_eq!((&*first, &*second), (&b""[..], &b"one/file"[..]));
    }
}
