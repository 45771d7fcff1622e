//! Reads the bytes of a SquashFS image's files.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
};

use lith_squashfs::{Error, File, InodeAddress, Kind, SquashFs};
use lith_tree::{Content, ContentError, Contents, DataRange, InodeIndex, Tree};

/// Where a file is.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    address: InodeAddress,
    fragment: Option<u32>,
}

impl Place {
    pub(super) fn new(address: InodeAddress, kind: &Kind) -> Self {
        let fragment = match kind {
            Kind::Regular(regular) => regular.fragment(),
            _ => None,
        };
        Self { address, fragment }
    }
}

/// Opens the files of a SquashFS image.
pub(super) struct SquashContents {
    pub(super) image: SquashFs,
    /// By inode.
    pub(super) places: Vec<Place>,
    /// The image's own path.
    pub(super) path: PathBuf,
}

impl Contents for SquashContents {
    fn open(&self, tree: &Tree, inode: InodeIndex) -> Result<Box<dyn Content + '_>, ContentError> {
        let path = self.path.join(lith_system::path(&tree.path(inode)));
        let Some(place) = self.places.get(inode.index()) else {
            let what = "was added after the image was read".to_owned();
            return Err(ContentError::Changed { path, what });
        };
        match self.image.file(place.address) {
            Ok(Some(file)) => Ok(Box::new(SquashFile { file, path })),
            Ok(None) => {
                let source = io::ErrorKind::InvalidInput.into();
                Err(ContentError::Io { path, action: "open", source })
            }
            Err(error) => Err(content_error(&path, error)),
        }
    }

    /// Files whose tails are in one fragment block are a group.
    fn reading_order(&self, files: &[InodeIndex]) -> Option<Vec<Vec<usize>>> {
        let mut groups = Vec::<Vec<usize>>::new();
        let mut of_fragments = HashMap::new();
        for (number, file) in files.iter().enumerate() {
            let fragment = self.places.get(file.index()).and_then(|place| place.fragment);
            let group = fragment.map_or(groups.len(), |fragment| {
                *of_fragments.entry(fragment).or_insert(groups.len())
            });
            match groups.get_mut(group) {
                Some(group) => group.push(number),
                None => groups.push(vec![number]),
            }
        }
        Some(groups)
    }
}

struct SquashFile<'a> {
    file: File<'a>,
    path: PathBuf,
}

impl Content for SquashFile<'_> {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), ContentError> {
        self.file.read_at(buf, position).map_err(|error| content_error(&self.path, error))
    }

    fn range_at(&self, position: u64) -> Result<DataRange, ContentError> {
        Ok(match self.file.range_at(position) {
            lith_squashfs::DataRange::Hole { end } => DataRange::Hole { end },
            lith_squashfs::DataRange::Data { end } => DataRange::Data { end },
        })
    }

    fn check_unchanged(&self) -> Result<(), ContentError> {
        Ok(())
    }
}

fn content_error(path: &Path, error: Error) -> ContentError {
    let path = path.to_owned();
    match error {
        Error::Device(error) => {
            ContentError::Io { path, action: "read", source: io::Error::other(error) }
        }
        error => ContentError::Damaged { path, source: Box::new(error) },
    }
}
