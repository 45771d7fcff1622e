//! Defines [`Store`], where the blobs of an image are: a directory, a tar of it, or a registry.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use lith_tree::{Content, InodeIndex, Kind, Tree};

use super::{digest::Digest, error::OciError};
use crate::{
    Data, Options, Source, SourceError, TarEnd,
    detect::{self, Looks, detect},
    error::cannot,
    limits,
    tar::{self, Region},
};

/// Symlinks from one layer to another that an archive may have in a row; `docker save` made one.
const SYMLINKS: usize = 8;

/// The files of an image.
pub(super) struct Store {
    path: PathBuf,
    place: Place,
}

enum Place {
    Directory,
    Archive(Source),
    #[cfg(feature = "remote")]
    Registry(Box<lith_remote::Registry>),
}

/// A file of an image.
pub(super) enum Blob<'a> {
    /// It can be read in place.
    File(Region),
    /// It is in an archive that was compressed, or came from a pipe.
    Content { content: Box<dyn Content + 'a>, size: u64 },
    /// It is fetched when it is read.
    #[cfg(feature = "remote")]
    Remote { registry: &'a lith_remote::Registry, digest: String, size: u64 },
}

impl Store {
    /// The layout in a directory.
    pub(super) fn directory(path: &Path) -> Self {
        Self { path: path.to_owned(), place: Place::Directory }
    }

    /// The tar at a path, compressed or not; `-` is standard input.
    pub(super) fn archive(path: &Path, options: &Options) -> Result<Self, SourceError> {
        let mut options = Options::with(|own| {
            own.spool_dir.clone_from(&options.spool_dir);
            own.spool_memory = options.spool_memory;
            own.tar_end = TarEnd::Anywhere;
        });
        let source = if path == Path::new("-") {
            tar::tar_stream(io::stdin().lock(), path, &options)?
        } else {
            let file = File::open(path).map_err(cannot("open", path))?;
            let is_file = file.metadata().map_err(cannot("read the attributes", path))?.is_file();
            if is_file {
                let start = tar::first_bytes(&file, detect::NEEDED);
                let start = start.map_err(cannot("read", path))?;
                // Then it is known where files are in it, and layers are not copied.
                options.data = if detect(&start) == Looks::Tar { Data::Refer } else { Data::Take };
            }
            tar::tar(file, path, &options)?
        };
        Ok(Self { path: path.to_owned(), place: Place::Archive(source) })
    }

    /// The repository that a reference names.
    #[cfg(feature = "remote")]
    pub(super) fn registry(path: &Path, options: &Options) -> Result<Self, SourceError> {
        use lith_remote::{Reference, Registry};
        let reference = Reference::parse(&path.to_string_lossy());
        let opened = reference.and_then(|found| Registry::open(&found, &options.remote));
        let shown = PathBuf::from(lith_remote::shown(&path.to_string_lossy()));
        let failed = |error| cannot("open", &shown)(io::Error::other(error));
        Ok(Self { path: shown.clone(), place: Place::Registry(Box::new(opened.map_err(failed)?)) })
    }

    #[cfg(not(feature = "remote"))]
    pub(super) fn registry(path: &Path, _options: &Options) -> Result<Self, SourceError> {
        let reason = "this program was built without sources on servers";
        Err(cannot("open", path)(io::Error::other(reason)))
    }

    /// An error about the image.
    pub(super) fn error(&self, source: OciError) -> SourceError {
        SourceError::Oci { path: self.path.clone(), source }
    }

    /// What a file of the image is called in messages.
    pub(super) fn name(&self, file: &str) -> PathBuf {
        self.path.join(file)
    }

    /// Opens a file of the image. `known` are its digest and its bytes, without which a registry has nothing.
    pub(super) fn open(
        &self,
        name: &str,
        known: Option<(&Digest, u64)>,
    ) -> Result<Blob<'_>, SourceError> {
        let found = match &self.place {
            Place::Directory => open_file(&self.path.join(name))?,
            Place::Archive(source) => self.open_member(source, name)?,
            #[cfg(feature = "remote")]
            Place::Registry(registry) => known.map(|(digest, size)| {
                let digest = digest.to_string();
                Blob::Remote { registry, digest, size }
            }),
        };
        // Others know the size of what they have.
        let _ = known;
        found.ok_or_else(|| self.error(OciError::Missing(name.to_owned())))
    }

    /// The document that a registry has by the name of the image.
    pub(super) fn named_manifest(&self) -> Result<Vec<u8>, SourceError> {
        match &self.place {
            #[cfg(feature = "remote")]
            Place::Registry(registry) => {
                registry.document().map(|found| found.bytes).map_err(|error| self.failed(error))
            }
            Place::Directory | Place::Archive(_) => {
                Err(self.error(OciError::Missing("a name".to_owned())))
            }
        }
    }

    /// Reads and verifies an index or a manifest, which registries don't have among their blobs.
    pub(super) fn manifest(&self, name: &str, digest: &Digest) -> Result<Vec<u8>, SourceError> {
        match &self.place {
            #[cfg(feature = "remote")]
            Place::Registry(registry) => {
                let found = registry.document_of(&digest.to_string());
                found.map(|found| found.bytes).map_err(|error| self.failed(error))
            }
            Place::Directory | Place::Archive(_) => {
                let bytes = self.document(name, None)?;
                self.check(name, &bytes, digest)?;
                Ok(bytes)
            }
        }
    }

    #[cfg(feature = "remote")]
    fn failed(&self, error: lith_remote::RemoteError) -> SourceError {
        cannot("fetch it", &self.path)(io::Error::other(error))
    }

    fn open_member<'a>(
        &self,
        source: &'a Source,
        name: &str,
    ) -> Result<Option<Blob<'a>>, SourceError> {
        let Some(inode) = follow(&source.tree, name.as_bytes()) else {
            return Ok(None);
        };
        let Kind::Regular { size } = source.tree.get(inode).kind else {
            return Ok(None);
        };
        let failed = |error| cannot("read", &self.path)(io::Error::other(error));
        let content = source.contents.open(&source.tree, inode).map_err(failed)?;
        let stretches = content.elsewhere().map_err(failed)?.unwrap_or_default();
        Ok(Some(match *stretches {
            [lith_tree::Elsewhere { place: Some((_, start)), len }] if len == size => {
                let file = File::open(&self.path).map_err(cannot("open", &self.path))?;
                Blob::File(Region { file, start, length: size })
            }
            _ => Blob::Content { content, size },
        }))
    }

    /// Reads a document, and verifies it if its digest is known.
    pub(super) fn document(
        &self,
        name: &str,
        known: Option<(&Digest, u64)>,
    ) -> Result<Vec<u8>, SourceError> {
        let blob = self.open(name, known)?;
        if blob.size() > limits::OCI_DOCUMENT {
            let found = blob.size();
            return Err(self.error(OciError::TooLarge { name: name.to_owned(), found }));
        }
        let mut bytes = Vec::new();
        let read = blob.reader().and_then(|mut reader| reader.read_to_end(&mut bytes));
        read.map_err(cannot("read", &self.name(name)))?;
        if let Some((digest, _)) = known {
            self.check(name, &bytes, digest)?;
        }
        Ok(bytes)
    }

    /// Compares bytes with their digest.
    pub(super) fn check(
        &self,
        name: &str,
        bytes: &[u8],
        expected: &Digest,
    ) -> Result<(), SourceError> {
        let found = expected.of(bytes);
        if found == *expected { Ok(()) } else { Err(self.mismatch(name, &found, expected)) }
    }

    /// The error that a blob has another digest than expected.
    pub(super) fn mismatch(&self, name: &str, found: &Digest, expected: &Digest) -> SourceError {
        let (found, expected) = (found.to_string(), expected.to_string());
        self.error(OciError::Mismatch { name: name.to_owned(), found, expected })
    }
}

/// Opens a regular file, or a link to one; `None`: there is none.
fn open_file(path: &Path) -> Result<Option<Blob<'static>>, SourceError> {
    // Opening a FIFO would wait for a writer.
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {
            let file = File::open(path).map_err(cannot("open", path))?;
            Ok(Some(Blob::File(Region { file, start: 0, length: metadata.len() })))
        }
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot("read the attributes", path)(error)),
    }
}

/// The inode at a path, after symlinks in its place.
fn follow(tree: &Tree, path: &[u8]) -> Option<InodeIndex> {
    let mut path = path.to_vec();
    for _step in 0..SYMLINKS {
        let inode = tree.find(&path)?;
        let Kind::Symlink(target) = &tree.get(inode).kind else {
            return Some(inode);
        };
        let parent = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        path.truncate(parent);
        for name in target.split(|byte| *byte == b'/') {
            match name {
                b"" | b"." => {}
                b".." => path.truncate(path.iter().rposition(|byte| *byte == b'/').unwrap_or(0)),
                name => lith_tree::push_name(&mut path, name),
            }
        }
    }
    None
}

impl Blob<'_> {
    /// Its size in bytes.
    pub(super) const fn size(&self) -> u64 {
        match self {
            Self::File(region) => region.length,
            Self::Content { size, .. } => *size,
            #[cfg(feature = "remote")]
            Self::Remote { size, .. } => *size,
        }
    }

    /// Reads it from its start.
    #[cfg_attr(
        not(feature = "remote"),
        expect(clippy::unnecessary_wraps, reason = "what is fetched may fail")
    )]
    pub(super) fn reader(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(match self {
            Self::File(region) => Box::new(region.reader()),
            Self::Content { content, size } => {
                Box::new(ContentReader { content: &**content, size: *size, position: 0 })
            }
            #[cfg(feature = "remote")]
            Self::Remote { registry, digest, size } => {
                Box::new(registry.blob(digest, *size).map_err(io::Error::other)?)
            }
        })
    }
}

/// Reads a file of an archive from start to end.
struct ContentReader<'a> {
    content: &'a dyn Content,
    size: u64,
    position: u64,
}

impl Read for ContentReader<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.size - self.position);
        let (buf, _) = buf.split_at_mut(left.map_or(buf.len(), |left| left.min(buf.len())));
        self.content.read_at(buf, self.position).map_err(io::Error::other)?;
        self.position += buf.len() as u64;
        Ok(buf.len())
    }
}

#[cfg(test)]
mod tests {
    use lith_tree::{Metadata, Name};

    use super::*;

    #[test]
    fn symlinks_stay_inside_and_end() {
        let mut tree = Tree::new(Metadata::default());
        let mut add = |parent: InodeIndex, name: &str, kind: Kind| {
            let name = Name::new(name.as_bytes()).unwrap();
            tree.add(parent, name, Metadata::default(), kind).unwrap()
        };
        let link = |target: &str| Kind::Symlink(target.as_bytes().into());
        let (a, b) = (add(InodeIndex::ROOT, "a", Kind::directory()), InodeIndex::ROOT);
        let file = add(a, "layer.tar", Kind::Regular { size: 0 });
        let other = add(b, "b", Kind::directory());
        add(other, "layer.tar", link("../a/layer.tar"));
        add(b, "out", link("../../../a/layer.tar"));
        add(b, "loop", link("loop"));
        for (path, expected) in [
            ("b/layer.tar", Some(file)),
            ("out", Some(file)),
            ("loop", None),
            ("../a", None),
            ("c", None),
        ] {
            assert_eq!(follow(&tree, path.as_bytes()), expected, "{path}");
        }
    }
}
