//! Reads the content of files from objects, whose digests are verified.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use lith_device::FileDevice;
use lith_source::Source;
use lith_system::FileAt;
use lith_tree::{Content, ContentError, Contents, DataRange, InodeIndex, Kind, Tree, Xattr};
use lith_verity::fsverity_digest;

use super::{
    marks,
    object::{METACOPY, REDIRECT, digest, path},
};

/// The tree of a source whose files have their content in the folder `objects`: an image of composefs. The digest of
/// an object is verified when it is first opened, if the image has it.
#[must_use]
pub fn unpack(mut source: Source, objects: &Path) -> Source {
    let mut inodes: Vec<_> = source.tree.walk().map(|visit| visit.inode).collect();
    inodes.sort_unstable();
    inodes.dedup();
    let found = inodes.into_iter().filter_map(|inode| {
        let object = object_of(&source.tree, inode, objects)?;
        Some((inode, object))
    });
    let found: HashMap<_, _> = found.collect();
    marks::unescape(&mut source.tree);
    let Source { tree, contents, notes } = source;
    let contents = Objects { others: contents, found, verified: Mutex::default() };
    Source { tree, contents: Box::new(contents), notes }
}

/// An object that a file refers to.
struct Object {
    /// `None`: the image names something that is not in the folder.
    path: Option<PathBuf>,
    digest: Option<[u8; 32]>,
}

fn object_of(tree: &Tree, inode: InodeIndex, objects: &Path) -> Option<Object> {
    if !matches!(tree.get(inode).kind, Kind::Regular { size: 1.. }) {
        return None;
    }
    let xattrs = tree.xattrs.get(tree.get(inode).metadata.xattrs);
    let value = |name: &[u8]| {
        let found = xattrs.iter().find(|xattr: &&Xattr| &*xattr.name == name);
        found.map(|xattr| &*xattr.value)
    };
    let redirect = value(REDIRECT)?;
    let path = path(redirect).map(|path| objects.join(path));
    Some(Object { path, digest: value(METACOPY).and_then(digest) })
}

/// The content of files with objects, and of the others.
struct Objects {
    others: Box<dyn Contents>,
    found: HashMap<InodeIndex, Object>,
    /// Files whose object has the digest of the image.
    verified: Mutex<HashSet<InodeIndex>>,
}

impl Contents for Objects {
    fn open(&self, tree: &Tree, inode: InodeIndex) -> Result<Box<dyn Content + '_>, ContentError> {
        let Some(object) = self.found.get(&inode) else { return self.others.open(tree, inode) };
        let size = match tree.get(inode).kind {
            Kind::Regular { size } => size,
            _ => 0,
        };
        let name = || PathBuf::from(String::from_utf8_lossy(&tree.path(inode)).into_owned());
        let damaged =
            |reason: String| ContentError::Damaged { path: name(), source: reason.into() };
        let Some(path) = &object.path else {
            return Err(damaged("it refers to something outside of the objects".into()));
        };
        let failed = |action| move |source| ContentError::Io { path: path.clone(), action, source };
        let file = File::open(path).map_err(failed("open"))?;
        let found = file.metadata().map_err(failed("read"))?.len();
        if found != size {
            let path = path.display();
            return Err(damaged(format!("the object {path} has {found} bytes, expected {size}")));
        }
        let mut verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(expected) = object.digest.filter(|_| !verified.contains(&inode)) {
            drop(verified);
            let device = file.try_clone().and_then(FileDevice::new).map_err(failed("read"))?;
            let digest = fsverity_digest(&device, NonZeroUsize::MIN);
            let digest = digest.map_err(|error| damaged(error.to_string()))?;
            if digest != expected {
                let path = path.display();
                return Err(damaged(format!("the object {path} has another digest")));
            }
            verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
            verified.insert(inode);
        }
        Ok(Box::new(ObjectContent { file, path, size }))
    }
}

/// The bytes of an object.
struct ObjectContent<'a> {
    file: File,
    path: &'a Path,
    size: u64,
}

impl Content for ObjectContent<'_> {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), ContentError> {
        self.file.read_exact_at(buf, position).map_err(|source| self.failed(source))
    }

    fn range_at(&self, _position: u64) -> Result<DataRange, ContentError> {
        Ok(DataRange::Data { end: self.size })
    }

    fn check_unchanged(&self) -> Result<(), ContentError> {
        let found = self.file.metadata().map_err(|source| self.failed(source))?.len();
        if found == self.size {
            return Ok(());
        }
        let what = format!("size {found}, was {}", self.size);
        Err(ContentError::Changed { path: self.path.to_owned(), what })
    }
}

impl ObjectContent<'_> {
    fn failed(&self, source: io::Error) -> ContentError {
        ContentError::Io { path: self.path.to_owned(), action: "read", source }
    }
}
