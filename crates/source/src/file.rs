//! Reads the bytes of a file that a tree was made of, and notices when it has changed.

use std::{fs::File, io, path::PathBuf};

use lith_system::FileAt;
use lith_tree::{Content, ContentError, DataRange};

use crate::seen::Seen;

/// A regular file that was found by its path.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) path: Box<[u8]>,
    pub(crate) size: u64,
    pub(crate) seen: Seen,
}

impl Found {
    /// What an open file is, and its size; `None`: it is no regular file.
    pub(crate) fn new(path: &[u8], file: &File) -> io::Result<Option<(Self, u64)>> {
        let status = lith_system::status(&file.metadata()?);
        let found = Self { path: path.into(), size: status.size, seen: Seen::new(&status) };
        Ok(status.is_file.then_some((found, status.size)))
    }
}

/// The content of an open file that had a size and attributes before.
pub(crate) fn content<'a>(
    file: File,
    path: PathBuf,
    size: u64,
    seen: Seen,
) -> Result<Box<dyn Content + 'a>, ContentError> {
    let status = match file.metadata() {
        Ok(metadata) => lith_system::status(&metadata),
        Err(source) => {
            return Err(ContentError::Io { path, action: "read the attributes", source });
        }
    };
    // With blocks for all bytes it has no hole. Blocks after its end can hide one, which is then read as zeros.
    let dense = status.allocated >= status.size;
    let content = FileContent { file, path, size, seen, dense };
    match content.seen.difference(size, &status) {
        Some(what) => Err(content.changed(what)),
        None => Ok(Box::new(content)),
    }
}

#[derive(Debug)]
struct FileContent {
    file: File,
    path: PathBuf,
    size: u64,
    seen: Seen,
    dense: bool,
}

impl FileContent {
    fn changed(&self, what: String) -> ContentError {
        ContentError::Changed { path: self.path.clone(), what }
    }

    fn failed(&self, action: &'static str) -> impl FnOnce(io::Error) -> ContentError {
        let path = self.path.clone();
        move |source| ContentError::Io { path, action, source }
    }
}

impl Content for FileContent {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), ContentError> {
        self.file.read_exact_at(buf, position).map_err(|source| {
            if source.kind() == io::ErrorKind::UnexpectedEof {
                return self.changed(format!("shorter than {} bytes", self.size));
            }
            self.failed("read")(source)
        })
    }

    fn range_at(&self, position: u64) -> Result<DataRange, ContentError> {
        let end = self.size;
        if self.dense {
            return Ok(DataRange::Data { end });
        }
        let data = lith_system::next_data(&self.file, position);
        let data = data.map_err(self.failed("find the holes"))?.unwrap_or(position).min(end);
        if data > position {
            return Ok(DataRange::Hole { end: data });
        }
        let hole = lith_system::next_hole(&self.file, position);
        let hole = hole.map_err(self.failed("find the holes"))?.unwrap_or(end).min(end);
        if hole > position {
            return Ok(DataRange::Data { end: hole });
        }
        Err(self.changed(format!("a hole at {position} was data")))
    }

    fn check_unchanged(&self) -> Result<(), ContentError> {
        let metadata = self.file.metadata().map_err(self.failed("read the attributes"))?;
        match self.seen.difference(self.size, &lith_system::status(&metadata)) {
            Some(what) => Err(self.changed(what)),
            None => Ok(()),
        }
    }
}
