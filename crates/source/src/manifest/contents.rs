//! Reads the content of listed files.

use std::path::PathBuf;

use lith_tree::{Content, ContentError, Contents, DataRange, InodeIndex, Tree};

use crate::{directory::Folder, file::Found};

/// Where the content of an inode is.
#[derive(Debug)]
pub(super) enum Stored {
    /// It has none.
    Nothing,
    Inline(Box<[u8]>),
    File(Found),
}

/// The content of a tree that a list describes.
pub(super) struct ManifestContents {
    pub(super) folder: Folder,
    /// By inode.
    pub(super) stored: Vec<Stored>,
}

impl Contents for ManifestContents {
    fn open(&self, tree: &Tree, inode: InodeIndex) -> Result<Box<dyn Content + '_>, ContentError> {
        match self.stored.get(inode.index()) {
            Some(Stored::File(file)) => self.folder.content(file),
            Some(Stored::Inline(bytes)) => Ok(Box::new(Inline(bytes))),
            Some(Stored::Nothing) | None => {
                let path = lith_system::path(&tree.path(inode)).to_owned();
                Err(ContentError::Changed { path, what: "is not in the list".to_owned() })
            }
        }
    }
}

struct Inline<'a>(&'a [u8]);

impl Content for Inline<'_> {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), ContentError> {
        let start = usize::try_from(position).unwrap_or(usize::MAX);
        let bytes = self.0.get(start..).and_then(|rest| rest.get(..buf.len()));
        let changed = || ContentError::Changed {
            path: PathBuf::new(),
            what: format!("shorter than {} bytes", position.saturating_add(buf.len() as u64)),
        };
        let bytes = bytes.ok_or_else(changed)?;
        buf.copy_from_slice(bytes);
        Ok(())
    }

    fn range_at(&self, _position: u64) -> Result<DataRange, ContentError> {
        Ok(DataRange::Data { end: self.0.len() as u64 })
    }

    fn check_unchanged(&self) -> Result<(), ContentError> {
        Ok(())
    }
}
