//! Reads the bytes of an image's files.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use lith_format::addr::Nid;
use lith_reader::{File, Image};
use lith_tree::{
    ByNumber, Content, ContentError, Contents, DataRange, Elsewhere, ExtraDevice, InodeIndex, Tree,
};

use super::referred::Referred;

/// Opens the files of an image.
#[derive(Debug)]
pub(super) struct ImageContents {
    pub(super) image: Arc<Image>,
    /// By inode.
    pub(super) nids: Vec<Nid>,
    /// The image's own path.
    pub(super) path: PathBuf,
    /// The devices to refer to, if an image is to refer to the files.
    pub(super) referred: Option<Referred>,
}

impl Contents for ImageContents {
    fn open(&self, tree: &Tree, inode: InodeIndex) -> Result<Box<dyn Content + '_>, ContentError> {
        self.open_number(inode, &tree.path(inode))
    }

    fn by_number(&self) -> Option<&dyn ByNumber> {
        Some(self)
    }

    fn reading_order(&self, files: &[InodeIndex]) -> Option<Vec<Vec<usize>>> {
        let nid = |inode: &InodeIndex| self.nids.get(inode.index()).copied().unwrap_or_default();
        self.image.reading_order(&files.iter().map(nid).collect::<Vec<_>>())
    }

    fn stored_in(&self, inode: InodeIndex) -> Option<(usize, u64)> {
        self.nids.get(inode.index()).map(|nid| (0, nid.0))
    }

    fn devices(&self) -> Vec<ExtraDevice> {
        self.referred.as_ref().map(Referred::devices).unwrap_or_default()
    }
}

impl ByNumber for ImageContents {
    fn open_number(
        &self,
        inode: InodeIndex,
        path: &[u8],
    ) -> Result<Box<dyn Content + '_>, ContentError> {
        let path = self.path.join(lith_system::path(path));
        let Some(nid) = self.nids.get(inode.index()) else {
            let what = "was added after the image was read".to_owned();
            return Err(ContentError::Changed { path, what });
        };
        match self.image.inode(*nid).and_then(|inode| self.image.file(&inode)) {
            Ok(file) => Ok(Box::new(ImageFile { file, path, referred: self.referred.as_ref() })),
            Err(error) => Err(content_error(&path, error)),
        }
    }
}

#[derive(Debug)]
struct ImageFile<'a> {
    file: File<'a>,
    path: PathBuf,
    referred: Option<&'a Referred>,
}

impl Content for ImageFile<'_> {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), ContentError> {
        self.file.read_at(buf, position).map_err(|error| content_error(&self.path, error))
    }

    fn range_at(&self, position: u64) -> Result<DataRange, ContentError> {
        match self.file.range_at(position) {
            Ok(Some(lith_reader::DataRange::Hole { end })) => Ok(DataRange::Hole { end }),
            Ok(Some(lith_reader::DataRange::Data { end })) => Ok(DataRange::Data { end }),
            Ok(None) => Ok(DataRange::Data { end: self.file.size() }),
            Err(error) => Err(content_error(&self.path, error)),
        }
    }

    fn check_unchanged(&self) -> Result<(), ContentError> {
        Ok(())
    }

    fn elsewhere(&self) -> Result<Option<Vec<Elsewhere>>, ContentError> {
        let Some(referred) = self.referred else {
            return Ok(None);
        };
        referred.stretches(&self.file).map_err(|error| content_error(&self.path, error))
    }
}

fn content_error(path: &Path, error: lith_reader::Error) -> ContentError {
    let path = path.to_owned();
    match error {
        lith_reader::Error::Device { .. } => {
            ContentError::Io { path, action: "read", source: io::Error::other(error) }
        }
        error => ContentError::Damaged { path, source: Box::new(error) },
    }
}
