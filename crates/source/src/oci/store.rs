//! Defines [`Store`], where the blobs of an image are: a directory, or a tar of it.

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
}

/// A file of an image.
pub(super) enum Blob<'a> {
    /// It can be read in place.
    File(Region),
    /// It is in an archive that was compressed, or came from a pipe.
    Content { content: Box<dyn Content + 'a>, size: u64 },
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

    /// An error about the image.
    pub(super) fn error(&self, source: OciError) -> SourceError {
        SourceError::Oci { path: self.path.clone(), source }
    }

    /// What a file of the image is called in messages.
    pub(super) fn name(&self, file: &str) -> PathBuf {
        self.path.join(file)
    }

    /// Opens a file of the image.
    pub(super) fn open(&self, name: &str) -> Result<Blob<'_>, SourceError> {
        let found = match &self.place {
            Place::Directory => open_file(&self.path.join(name))?,
            Place::Archive(source) => self.open_member(source, name)?,
        };
        found.ok_or_else(|| self.error(OciError::Missing(name.to_owned())))
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
        digest: Option<&Digest>,
    ) -> Result<Vec<u8>, SourceError> {
        let blob = self.open(name)?;
        if blob.size() > limits::OCI_DOCUMENT {
            let found = blob.size();
            return Err(self.error(OciError::TooLarge { name: name.to_owned(), found }));
        }
        let mut bytes = Vec::new();
        let read = blob.reader().read_to_end(&mut bytes);
        read.map_err(cannot("read", &self.name(name)))?;
        let Some(expected) = digest else {
            return Ok(bytes);
        };
        let found = expected.of(&bytes);
        if found == *expected {
            return Ok(bytes);
        }
        Err(self.mismatch(name, &found, expected))
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
        }
    }

    /// Reads it from its start.
    pub(super) const fn reader(&self) -> BlobReader<'_> {
        BlobReader { blob: self, position: 0 }
    }
}

/// Reads a blob from start to end.
pub(super) struct BlobReader<'a> {
    blob: &'a Blob<'a>,
    position: u64,
}

impl Read for BlobReader<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.blob.size() - self.position);
        let (buf, _) = buf.split_at_mut(left.map_or(buf.len(), |left| left.min(buf.len())));
        let got = match self.blob {
            Blob::File(region) => region.read_at(buf, self.position)?,
            Blob::Content { content, .. } => {
                content.read_at(buf, self.position).map_err(io::Error::other)?;
                buf.len()
            }
        };
        self.position += got as u64;
        Ok(got)
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
