//! Compares the files of a base with those of a source that are likely to be the same, while the base is read.

use lith_format::{addr::Nid, file_type::FileType};
use lith_reader::{Error, Image};
use lith_tree::{Content, ContentError, Filesystem, InodeIndex, Kind, Tree};

/// The files of a source that have the path and the size of a file of an image.
pub(crate) struct Likely(Vec<(Nid, InodeIndex)>);

impl Likely {
    /// Finds them by their paths.
    pub(crate) fn find(image: &Image, tree: &Tree) -> Result<Self, Error> {
        let mut found = Vec::new();
        for file in image.files() {
            let file = file?;
            if file.inode.file_type != FileType::Regular || file.inode.size == 0 {
                continue;
            }
            let Some(inode) = tree.find(&file.path) else { continue };
            let is_as_long = |size| size == file.inode.size;
            if matches!(tree.get(inode).kind, Kind::Regular { size } if is_as_long(size)) {
                found.push((file.inode.nid, inode));
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(Self(found))
    }

    /// Those of one file.
    pub(crate) fn of(&self, nid: Nid) -> impl Iterator<Item = InodeIndex> {
        let start = self.0.partition_point(|(other, _)| *other < nid);
        let own = self.0.iter().skip(start).take_while(move |(other, _)| *other == nid);
        own.map(|(_, inode)| *inode)
    }
}

/// Files of a source that have the bytes of a file, as far as that was read.
pub(crate) struct Same<'a> {
    files: Vec<(InodeIndex, Box<dyn Content + 'a>)>,
    buf: &'a mut Vec<u8>,
}

impl<'a> Same<'a> {
    /// Opens files to be compared. Those that can't be read are not the same; whoever stores them finds out why.
    pub(crate) fn new(
        source: Filesystem<'a>,
        files: impl Iterator<Item = InodeIndex>,
        buf: &'a mut Vec<u8>,
    ) -> Self {
        let open = |inode| Some((inode, source.open(inode).ok()?));
        Self { files: files.filter_map(open).collect(), buf }
    }

    /// Keeps the files that have these bytes at a position.
    pub(crate) fn keep(&mut self, bytes: &[u8], position: u64) {
        if self.files.is_empty() {
            return;
        }
        self.buf.resize(bytes.len(), 0);
        let mut has = |content: &dyn Content| -> Result<bool, ContentError> {
            content.read_at(self.buf, position)?;
            Ok(*self.buf == bytes)
        };
        self.files.retain(|(_, content)| has(&**content).unwrap_or(false));
    }

    /// The files that have all bytes.
    pub(crate) fn finish(self) -> Vec<InodeIndex> {
        let files = self.files.into_iter();
        let unchanged = files.filter(|(_, content)| content.check_unchanged().is_ok());
        unchanged.map(|(inode, _)| inode).collect()
    }
}
