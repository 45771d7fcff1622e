//! Defines [`Spool`]: a tree made of paths and bytes, one after another, whose content is kept in a temporary file. So a
//! source may be larger than memory.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, BufWriter, Write},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use lith::{
    source::Source,
    tree::{
        Content, ContentError, Contents, DataRange, InodeIndex, Kind, Metadata, Name, NameError,
        Timestamp, Tree, TreeError,
    },
};

use crate::path::bytes;

/// Why a file can't be added.
#[derive(Debug)]
pub(crate) enum SpoolError {
    /// A name of its path is impossible.
    Name(NameError),
    /// The tree can't have it: a file is there, or a file is where a directory should be.
    Tree(TreeError),
    /// The temporary file can't be written.
    Io(io::Error),
}

/// A tree in the making.
pub(crate) struct Spool {
    tree: Tree,
    output: BufWriter<File>,
    /// Where the content of each file starts.
    starts: HashMap<InodeIndex, u64>,
    end: u64,
    time: Timestamp,
}

impl Spool {
    /// An empty tree with temporary data in `folder`. All files have this time.
    pub(crate) fn new(folder: &Path, time: Timestamp) -> io::Result<Self> {
        let output = BufWriter::with_capacity(1 << 20, tempfile::tempfile_in(folder)?);
        let root = Metadata { permissions: 0o755, mtime: time, ..Metadata::default() };
        Ok(Self { tree: Tree::new(root), output, starts: HashMap::new(), end: 0, time })
    }

    /// Adds a regular file, with the directories that its path needs.
    pub(crate) fn add_file(&mut self, path: &Path, content: &[u8]) -> Result<(), SpoolError> {
        let (parent, name) = self.place(path)?;
        let name = name.ok_or_else(|| SpoolError::Name(NameError::Reserved(bytes(path).into())))?;
        let size = content.len() as u64;
        let metadata = self.metadata(0o644);
        let inode = self.tree.add(parent, name, metadata, Kind::Regular { size });
        self.starts.insert(inode.map_err(SpoolError::Tree)?, self.end);
        self.output.write_all(content).map_err(SpoolError::Io)?;
        self.end += size;
        Ok(())
    }

    /// Adds a directory, unless it is there.
    pub(crate) fn add_directory(&mut self, path: &Path) -> Result<(), SpoolError> {
        match self.place(path)? {
            (parent, Some(name)) => self.directory(parent, name).map(drop),
            (_, None) => Ok(()),
        }
    }

    /// The finished tree.
    pub(crate) fn finish(self) -> io::Result<Source> {
        let file = self.output.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(Source::new(self.tree, Spooled { file, starts: self.starts }))
    }

    /// The directory of a path, which is made, and its last name; `None` for the root.
    fn place(&mut self, path: &Path) -> Result<(InodeIndex, Option<Name>), SpoolError> {
        let names = bytes(path).split(|byte| *byte == b'/');
        let mut names = names.filter(|name| !matches!(*name, b"" | b".")).peekable();
        let mut parent = InodeIndex::ROOT;
        while let Some(name) = names.next() {
            let name = Name::new(name).map_err(SpoolError::Name)?;
            if names.peek().is_none() {
                return Ok((parent, Some(name)));
            }
            parent = self.directory(parent, name)?;
        }
        Ok((parent, None))
    }

    fn directory(&mut self, parent: InodeIndex, name: Name) -> Result<InodeIndex, SpoolError> {
        let found = self.tree.get(parent).as_directory();
        if let Some(found) = found.and_then(|directory| directory.get(name.as_bytes()))
            && self.tree.get(found).as_directory().is_some()
        {
            return Ok(found);
        }
        let metadata = self.metadata(0o755);
        self.tree.add(parent, name, metadata, Kind::directory()).map_err(SpoolError::Tree)
    }

    fn metadata(&self, permissions: u16) -> Metadata {
        Metadata { permissions, mtime: self.time, ..Metadata::default() }
    }
}

struct Spooled {
    file: File,
    starts: HashMap<InodeIndex, u64>,
}

impl Contents for Spooled {
    fn open(&self, tree: &Tree, inode: InodeIndex) -> Result<Box<dyn Content + '_>, ContentError> {
        let path = crate::image::joined(Path::new(""), &tree.path(inode));
        let found = (&tree.get(inode).kind, self.starts.get(&inode));
        let (&Kind::Regular { size }, Some(&start)) = found else {
            return Err(ContentError::Changed { path, what: "it has no content here".to_owned() });
        };
        Ok(Box::new(SpooledFile { file: &self.file, start, size, path }))
    }
}

struct SpooledFile<'a> {
    file: &'a File,
    start: u64,
    size: u64,
    path: PathBuf,
}

impl Content for SpooledFile<'_> {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), ContentError> {
        let end = position.saturating_add(buf.len() as u64);
        let read = if end > self.size {
            Err(io::ErrorKind::UnexpectedEof.into())
        } else {
            self.file.read_exact_at(buf, self.start + position)
        };
        let failed = |source| ContentError::Io { path: self.path.clone(), action: "read", source };
        read.map_err(failed)
    }

    fn range_at(&self, _position: u64) -> Result<DataRange, ContentError> {
        Ok(DataRange::Data { end: self.size })
    }

    fn check_unchanged(&self) -> Result<(), ContentError> {
        Ok(())
    }
}
