//! Reads directories with what the standard library can do, on systems other than Linux.
//!
//! Extended attributes are not read, and devices can't be. On Windows, all files are root's and have the usual modes. Unlike
//! on Linux, other programs must not put links in the place of directories meanwhile.

use std::{
    collections::{HashMap, HashSet},
    ffi::OsString,
    fs::{self, File, FileType},
    io,
    path::{Path, PathBuf},
    vec,
};

use lith_system::Status;
use lith_tree::{
    Content, ContentError, Contents, InodeIndex, Kind, Metadata, Name, Tree, push_name,
};

use crate::{
    OnError, Options, Source, SourceError,
    error::cannot,
    file::{self, Found},
    note::{NoteKind, Notes},
    outputs::outputs_beneath,
    prune::{Fate, remove_empty},
    seen::Seen,
};

/// As on Linux: see there.
pub fn directory(path: &Path, options: &Options) -> Result<Source, SourceError> {
    let status = path.metadata().map_err(cannot("open", path))?;
    let is_directory = status.is_dir();
    let status = lith_system::status(&status);
    let mut scan = Scan {
        root: path,
        options,
        outputs: outputs_beneath(path, options),
        device: status.id.map(|(device, _)| device).filter(|_| options.one_file_system),
        tree: Tree::new(metadata(&status, if is_directory { 0o755 } else { 0o644 })),
        seen: vec![Seen::default()],
        shared: HashMap::new(),
        provisional: Vec::new(),
        notes: Notes::default(),
        failures: Vec::new(),
    };
    scan.all();
    if let Some(failure) = SourceError::of_several(scan.failures) {
        return Err(failure);
    }
    remove_empty(&mut scan.tree, &scan.provisional);
    Ok(Source {
        tree: scan.tree,
        contents: Box::new(FolderContents { folder: Folder(path.to_owned()), seen: scan.seen }),
        notes: scan.notes.into_vec(),
    })
}

/// A directory whose names are being added.
struct Level {
    directory: InodeIndex,
    path: Vec<u8>,
    fate: Fate,
    /// In ascending order of their bytes.
    names: vec::IntoIter<OsString>,
}

/// A directory while it is read, in the order of the tree's walk.
struct Scan<'a> {
    root: &'a Path,
    options: &'a Options,
    /// The paths from the root of files that are about to be made.
    outputs: HashSet<Box<[u8]>>,
    /// The filesystem that is read; `None`: all.
    device: Option<u64>,
    tree: Tree,
    /// By inode.
    seen: Vec<Seen>,
    /// The inodes with several names, by device and inode number.
    shared: HashMap<(u64, u64), InodeIndex>,
    /// Directories that are left out if they are empty.
    provisional: Vec<InodeIndex>,
    notes: Notes,
    failures: Vec<SourceError>,
}

impl Scan<'_> {
    fn all(&mut self) {
        let mut stack = vec![self.level(InodeIndex::ROOT, Vec::new(), Fate::Taken)];
        while let Some(level) = stack.last_mut() {
            let Some(name) = level.names.next() else {
                stack.pop();
                continue;
            };
            let mut path = level.path.clone();
            push_name(&mut path, name.as_encoded_bytes());
            match self.entry(level, &name, &path) {
                Ok(Some((inode, fate))) if self.tree.get(inode).as_directory().is_some() => {
                    let below = self.level(inode, path, fate);
                    stack.push(below);
                }
                Ok(_) => {}
                Err(error) => self.fail(&path, error),
            }
        }
    }

    /// Lists a directory, which is empty if it can't be read.
    fn level(&mut self, directory: InodeIndex, path: Vec<u8>, fate: Fate) -> Level {
        let place = place(self.root, &path);
        let names = fs::read_dir(&place).and_then(|entries| {
            let names = entries.map(|entry| Ok(entry?.file_name()));
            names.collect::<io::Result<Vec<_>>>()
        });
        let mut names = names.unwrap_or_else(|source| {
            self.fail(&path, cannot("list", &place)(source));
            Vec::new()
        });
        names.sort_unstable_by(|a, b| a.as_encoded_bytes().cmp(b.as_encoded_bytes()));
        Level { directory, path, fate, names: names.into_iter() }
    }

    /// Keeps the reason why a file can't be read, as a note if it is left out.
    fn fail(&mut self, path: &[u8], error: SourceError) {
        match self.options.on_error {
            OnError::Skip if error.is_of_file() => {
                self.notes.add_unreadable(path, error.reason());
            }
            OnError::Skip | OnError::Fail => self.failures.push(error),
        }
    }

    /// Adds one name; `None` if it is left out.
    fn entry(
        &mut self,
        level: &Level,
        name: &OsString,
        path: &[u8],
    ) -> Result<Option<(InodeIndex, Fate)>, SourceError> {
        let bytes = name.as_encoded_bytes();
        let fate = Fate::new(&self.options.exclude, level.fate, (&level.path, bytes), true);
        if fate == Fate::LeftOut {
            return Ok(None);
        }
        if self.outputs.contains(path) {
            self.notes.add(NoteKind::Output, path);
            return Ok(None);
        }
        let place = place(self.root, &level.path).join(name);
        let found = place.symlink_metadata().map_err(cannot("read the attributes", &place))?;
        if !found.is_dir() && fate == Fate::Provisional {
            return Ok(None);
        }
        let status = lith_system::status(&found);
        if self.device.is_some_and(|device| status.id.is_some_and(|(other, _)| other != device)) {
            self.notes.add(NoteKind::OtherFilesystem, path);
            return Ok(None);
        }
        let name = Name::new(bytes);
        let name = name.map_err(|source| SourceError::Name { path: place.clone(), source })?;
        let failed = |source| SourceError::Tree { path: place.clone(), source };
        let shared = status.id.filter(|_| {
            status.links > 1 && !found.is_dir() && !self.options.dereference_hard_links
        });
        if let Some(inode) = shared.and_then(|id| self.shared.get(&id)) {
            self.tree.link(level.directory, name, *inode).map_err(failed)?;
            return Ok(None);
        }
        let (kind, usual) = kind(found.file_type(), &status, &place)?;
        let metadata = metadata(&status, usual);
        let inode = self.tree.add(level.directory, name, metadata, kind).map_err(failed)?;
        self.seen.push(Seen::new(&status));
        self.shared.extend(shared.map(|id| (id, inode)));
        if fate == Fate::Provisional {
            self.provisional.push(inode);
        }
        Ok(Some((inode, fate)))
    }
}

/// The place of a path of the tree.
fn place(root: &Path, path: &[u8]) -> PathBuf {
    if path.is_empty() { root.to_owned() } else { root.join(lith_system::path(path)) }
}

/// What a file is, and its permissions where the system has none.
fn kind(found: FileType, status: &Status, place: &Path) -> Result<(Kind, u16), SourceError> {
    if found.is_dir() {
        return Ok((Kind::directory(), 0o755));
    }
    if found.is_symlink() {
        let target = fs::read_link(place).map_err(cannot("read the link", place))?;
        let mut target = target.into_os_string().into_encoded_bytes();
        if cfg!(windows) {
            target.iter_mut().filter(|byte| **byte == b'\\').for_each(|byte| *byte = b'/');
        }
        return Ok((Kind::Symlink(target.into()), 0o777));
    }
    match status.mode.map(|mode| mode & 0o170_000) {
        Some(0o010_000) => Ok((Kind::Fifo, 0o644)),
        Some(0o140_000) => Ok((Kind::Socket, 0o644)),
        _ if status.is_file => Ok((Kind::Regular { size: status.size }, 0o644)),
        _ => Err(cannot("read the device number", place)(io::ErrorKind::Unsupported.into())),
    }
}

fn metadata(status: &Status, usual: u16) -> Metadata {
    let permissions = status.mode.map(|mode| u16::try_from(mode & 0o7777).expect("twelve bits"));
    let (uid, gid) = status.owner.unwrap_or_default();
    let mtime = Seen::new(status).mtime();
    Metadata { permissions: permissions.unwrap_or(usual), uid, gid, mtime, ..Metadata::default() }
}

/// Opens the files of a directory that was read.
#[derive(Debug)]
struct FolderContents {
    folder: Folder,
    /// By inode.
    seen: Vec<Seen>,
}

impl Contents for FolderContents {
    fn open(&self, tree: &Tree, inode: InodeIndex) -> Result<Box<dyn Content + '_>, ContentError> {
        let path = tree.path(inode);
        // An inode that was added to the tree later differs from any file.
        let seen = self.seen.get(inode.index()).copied().unwrap_or_default();
        let Kind::Regular { size } = tree.get(inode).kind else {
            let source = io::ErrorKind::InvalidInput.into();
            return Err(ContentError::Io {
                path: self.folder.place(&path),
                action: "open",
                source,
            });
        };
        self.folder.content(&Found { path: path.into(), size, seen })
    }
}

/// A directory in which files are found by their paths, without being listed.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn open(path: &Path) -> Result<Self, SourceError> {
        path.read_dir().map_err(cannot("open", path))?;
        Ok(Self(path.to_owned()))
    }

    /// Finds the file at a path from the directory, or at an absolute one, and its size; `None`: it is no regular file.
    pub(crate) fn find(&self, path: &[u8]) -> Result<Option<(Found, u64)>, SourceError> {
        let place = self.place(path);
        let found = self.open_file(&place).and_then(|file| Found::new(path, &file));
        found.map_err(cannot("open", &place))
    }

    /// Opens a file again.
    pub(crate) fn content(&self, found: &Found) -> Result<Box<dyn Content + '_>, ContentError> {
        let path = self.place(&found.path);
        match self.open_file(&path) {
            Ok(file) => file::content(file, path, found.size, found.seen),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(ContentError::Changed { path, what: "was removed".to_owned() })
            }
            Err(source) => Err(ContentError::Io { path, action: "open", source }),
        }
    }

    fn place(&self, path: &[u8]) -> PathBuf {
        place(&self.0, path)
    }

    /// To open a FIFO might never end.
    #[expect(clippy::unused_self, reason = "it is called as the other methods are")]
    fn open_file(&self, place: &Path) -> io::Result<File> {
        if !place.symlink_metadata()?.is_file() {
            return Err(io::Error::other("is no regular file"));
        }
        File::open(place)
    }
}

#[cfg(test)]
mod tests {
    use lith_tree::{Aspects, DiffOptions, diff};

    use super::*;

    /// On Linux, both ways to read a directory must see the same.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_directory_is_read_as_on_linux() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("b/empty")).unwrap();
        fs::create_dir_all(at("left out/x")).unwrap();
        fs::write(at("a"), "text").unwrap();
        fs::write(at("b.c"), vec![7; 100_000]).unwrap();
        fs::hard_link(at("a"), at("b/hard")).unwrap();
        std::os::unix::fs::symlink("../a", at("b/link")).unwrap();
        File::create(at("sparse")).unwrap().set_len(1 << 20).unwrap();
        let options = Options::with(|options| {
            options.outputs = vec![at("image"), at("b.c")];
            options.exclude = crate::Excludes::new(["left out"]).unwrap();
        });
        let (one, other) =
            (directory(folder.path(), &options), crate::directory(folder.path(), &options));
        let (one, other) = (one.unwrap(), other.unwrap());
        let paths = |source: &Source| -> Vec<_> {
            source.tree.walk().map(|visit| source.tree.path(visit.inode)).collect()
        };
        assert_eq!(paths(&one), paths(&other));
        assert_eq!(paths(&one).len(), 7);
        assert_eq!(one.notes, other.notes);
        let options = DiffOptions::with(|options| options.ignore = Aspects::empty());
        diff(one.filesystem(), other.filesystem(), &options, &(), &mut |found| panic!("{found}"))
            .unwrap();
    }

    #[test]
    fn a_file_that_has_changed_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "text").unwrap();
        let source = directory(folder.path(), &Options::default()).unwrap();
        let inode = source.tree.find(b"file").unwrap();
        source.filesystem().open(inode).unwrap().check_unchanged().unwrap();
        fs::write(&path, "longer").unwrap();
        let error = source.filesystem().open(inode).err().unwrap().to_string();
        assert!(error.contains("size 6, was 4"), "{error}");
        fs::remove_file(&path).unwrap();
        let error = source.filesystem().open(inode).err().unwrap().to_string();
        assert!(error.contains("was removed"), "{error}");
    }
}
