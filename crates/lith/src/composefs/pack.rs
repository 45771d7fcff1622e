//! Stores the content of files as objects, and makes the tree that refers to them.

use std::{
    fs, io,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use lith_builder::{BuildError, composefs::Version};
use lith_device::{DeviceError, FileDevice, ReadAt};
use lith_parallel::try_map;
use lith_source::Source;
use lith_system::FileAt;
use lith_tree::{
    Content, ContentError, Filesystem, InodeIndex, Kind, MemoryContents, Piece, Pieces,
};
use lith_verity::fsverity_digest;
use tempfile::NamedTempFile;

use super::{
    marks,
    object::{INLINE, METACOPY, REDIRECT, metacopy, name},
};
use crate::Error;

/// Bytes that are copied at once.
const STEP: usize = 1 << 20;

/// Where objects are, and the image that refers to them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Store {
    /// The folder of objects.
    pub(crate) objects: PathBuf,
    /// The version of the image; `None`: the least one that can express the tree.
    pub(crate) version: Option<Version>,
}

/// Stores the content of a source's files in a folder of objects, which is made if it is not there. Returns the source of an
/// image that refers to them, and the version of that. Objects that are there already are kept.
pub(crate) fn pack(
    mut source: Source,
    Store { objects, version }: &Store,
    workers: NonZeroUsize,
) -> Result<(Source, Version), Error> {
    fs::create_dir_all(objects).map_err(failed(objects, "create"))?;
    let mut files: Vec<InodeIndex> = source
        .tree
        .walk()
        .map(|visit| visit.inode)
        .filter(|inode| matches!(source.tree.get(*inode).kind, Kind::Regular { size: 1.. }))
        .collect();
    files.sort_unstable();
    files.dedup();
    let fs = source.filesystem();
    let stored = try_map(
        &files,
        workers,
        || vec![0; STEP],
        |buffer, inode| store(fs, *inode, (objects, buffer)),
    )?;
    let mut contents = MemoryContents::default();
    let version = version.unwrap_or_else(|| marks::version_for(&source.tree));
    marks::escape(&mut source.tree, version);
    for (inode, stored) in files.into_iter().zip(stored) {
        match stored {
            Stored::Inline(bytes) => contents.insert(inode, bytes),
            Stored::Object(digest) => {
                let path = format!("/{}", name(digest));
                source.tree.add_xattr(inode, METACOPY, &metacopy(digest));
                source.tree.add_xattr(inode, REDIRECT, path.as_bytes());
            }
        }
    }
    let Source { tree, notes, .. } = source;
    Ok((Source { tree, contents: Box::new(contents), notes }, version))
}

/// Where the content of a file is.
enum Stored {
    Inline(Vec<u8>),
    Object([u8; 32]),
}

fn store(
    fs: Filesystem<'_>,
    inode: InodeIndex,
    (objects, buffer): (&Path, &mut [u8]),
) -> Result<Stored, Error> {
    let Kind::Regular { size } = fs.tree.get(inode).kind else {
        unreachable!("only regular files are stored")
    };
    let content = fs.open(inode).map_err(of_content)?;
    if size <= INLINE {
        let mut bytes = vec![0; usize::try_from(size).unwrap_or_default()];
        content.read_at(&mut bytes, 0).map_err(of_content)?;
        content.check_unchanged().map_err(of_content)?;
        return Ok(Stored::Inline(bytes));
    }
    let device = ContentDevice { content: &*content, size, failure: Mutex::default() };
    let digest = fsverity_digest(&device, NonZeroUsize::MIN);
    let failure = device.failure.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = failure {
        return Err(of_content(error));
    }
    let digest = digest?;
    let path = objects.join(name(digest));
    if !path.exists() {
        let written = write(&*content, (size, buffer), (objects, &path))?;
        content.check_unchanged().map_err(of_content)?;
        if object_digest(&written, &path)? != digest {
            let (path, what) = (fs.tree.path(inode), "its content".into());
            let path = String::from_utf8_lossy(&path).into_owned().into();
            return Err(of_content(ContentError::Changed { path, what }));
        }
        place(written, &path)?;
    }
    content.check_unchanged().map_err(of_content)?;
    Ok(Stored::Object(digest))
}

/// Writes an object to a file that has not its name yet.
fn write(
    content: &dyn Content,
    (size, buffer): (u64, &mut [u8]),
    (objects, path): (&Path, &Path),
) -> Result<NamedTempFile, Error> {
    let file = NamedTempFile::with_prefix_in(".lith-", objects).map_err(failed(path, "create"))?;
    let mut pieces = Pieces::new(content, 0..size, buffer);
    while let Some(piece) = pieces.advance().map_err(of_content)? {
        if let Piece::Data { position, bytes } = piece {
            file.as_file().write_all_at(bytes, position).map_err(failed(path, "write"))?;
        }
    }
    file.as_file().set_len(size).map_err(failed(path, "write"))?;
    Ok(file)
}

/// The digest of what was written.
fn object_digest(file: &NamedTempFile, path: &Path) -> Result<[u8; 32], Error> {
    let device = file.as_file().try_clone().and_then(FileDevice::new);
    Ok(fsverity_digest(&device.map_err(failed(path, "read back"))?, NonZeroUsize::MIN)?)
}

/// Gives an object its name. All images rely on its content from then on.
fn place(file: NamedTempFile, path: &Path) -> Result<(), Error> {
    let placed = readable(file.as_file())
        .and_then(|()| file.as_file().sync_data())
        .and_then(|()| path.parent().map_or(Ok(()), fs::create_dir_all))
        .and_then(|()| file.persist(path).map(drop).map_err(|error| error.error));
    placed.map_err(failed(path, "put into place"))
}

/// Objects belong to all images, and so to all readers of them.
fn readable(file: &fs::File) -> io::Result<()> {
    lith_system::permissions(0o644).map_or(Ok(()), |permissions| file.set_permissions(permissions))
}

fn failed<'p>(path: &'p Path, action: &'static str) -> impl FnOnce(io::Error) -> Error + 'p {
    move |source| Error::Target { path: path.to_owned(), action, source }
}

fn of_content(error: ContentError) -> Error {
    BuildError::Content(error).into()
}

/// The content of a file as a device. The first error is kept, as it names the file.
struct ContentDevice<'a> {
    content: &'a dyn Content,
    size: u64,
    failure: Mutex<Option<ContentError>>,
}

impl ReadAt for ContentDevice<'_> {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), DeviceError> {
        self.content.read_at(buf, position).map_err(|error| {
            let source = io::Error::other(error.reason());
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            DeviceError::Io { position, length: buf.len() as u64, source }
        })
    }

    fn size(&self) -> u64 {
        self.size
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use lith_tree::{Contents, DataRange, Metadata, Name, Tree};

    use super::*;

    const SIZE: u64 = 1000;

    /// A file whose bytes are others each time that they are read, as if it was written meanwhile.
    #[derive(Default)]
    struct Restless(AtomicUsize);

    impl Contents for Restless {
        fn open(&self, _: &Tree, _: InodeIndex) -> Result<Box<dyn Content + '_>, ContentError> {
            Ok(Box::new(self))
        }
    }

    impl Content for &Restless {
        fn read_at(&self, buf: &mut [u8], _position: u64) -> Result<(), ContentError> {
            buf.fill(u8::try_from(self.0.fetch_add(1, Ordering::Relaxed)).unwrap());
            Ok(())
        }

        fn range_at(&self, _position: u64) -> Result<DataRange, ContentError> {
            Ok(DataRange::Data { end: SIZE })
        }

        fn check_unchanged(&self) -> Result<(), ContentError> {
            Ok(())
        }
    }

    #[test]
    fn no_object_gets_the_name_of_another_content() {
        let objects = tempfile::tempdir().unwrap();
        let mut tree = Tree::new(Metadata::default());
        let (name, kind) = (Name::new(b"file").unwrap(), Kind::Regular { size: SIZE });
        tree.add(InodeIndex::ROOT, name, Metadata::default(), kind).unwrap();
        let contents = Box::new(Restless::default());
        let source = Source { tree, contents, notes: Vec::new() };
        let store = Store { objects: objects.path().to_owned(), version: None };
        let error = pack(source, &store, NonZeroUsize::MIN).err().unwrap();
        assert!(
            matches!(&error, Error::Build(BuildError::Content(ContentError::Changed { .. }))),
            "{error}"
        );
        assert_eq!(fs::read_dir(objects.path()).unwrap().count(), 0);
    }
}
