//! Defines [`FileTable`]: how each regular file is stored, and what is stored beside its inode.

use lith_format::chunk::ChunkFormat;
use lith_tree::InodeIndex;

use super::spool::{Spool, Spooled};
use crate::{BuildError, Context, Digest, IndexForm};

/// How a regular file's content is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FileData {
    /// There is none.
    #[default]
    Empty,
    /// Blocks from `start` on; the payload is the inline tail.
    Flat { start: u64 },
    /// Pclusters, or a fragment; the payload is the map header, its table, and `inline` bytes of the last pcluster.
    Compressed { blocks: u64, index: IndexForm, inline: u16 },
    /// Chunks, some of which are holes if it is sparse; the payload is their table.
    Chunked { format: ChunkFormat, sparse: bool },
}

/// How a regular file is stored, and the bytes beside its inode.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StoredFile {
    pub(crate) data: FileData,
    pub(crate) payload: Spooled,
}

/// How all files are stored, by the indices of their inodes.
#[derive(Debug)]
pub(crate) struct FileTable {
    files: Vec<StoredFile>,
    digests: Vec<Digest>,
    spool: Spool,
}

impl FileTable {
    /// A table for so many inodes, none of which has content yet.
    pub(super) fn new(inodes: usize, context: &Context<'_>) -> Self {
        Self {
            files: vec![StoredFile::default(); inodes],
            digests: vec![Digest::default(); inodes],
            spool: Spool::new(context.temporary, context.memory / 8),
        }
    }

    /// How an inode's content is stored.
    pub(crate) fn get(&self, inode: InodeIndex) -> StoredFile {
        *self.files.get(inode.index()).expect("there is one for each inode")
    }

    /// How all of them are stored.
    pub(crate) fn iter(&self) -> impl Iterator<Item = FileData> {
        self.files.iter().map(|file| file.data)
    }

    /// The digest of a file that was read; of every other inode 0.
    pub(crate) fn digest(&self, inode: InodeIndex) -> Digest {
        *self.digests.get(inode.index()).expect("there is one for each inode")
    }

    /// The digests of the first `count` inodes.
    pub(crate) fn into_digests(mut self, count: usize) -> Vec<Digest> {
        self.digests.truncate(count);
        self.digests
    }

    /// The bytes beside a file's inode, in `buf`.
    pub(crate) fn payload(&self, file: StoredFile, buf: &mut Vec<u8>) -> Result<(), BuildError> {
        self.spool.read(file.payload, buf)
    }

    pub(super) fn set(
        &mut self,
        inode: InodeIndex,
        data: FileData,
        payload: &[u8],
    ) -> Result<(), BuildError> {
        let payload = self.spool.push(payload)?;
        let file = self.files.get_mut(inode.index()).expect("there is one for each inode");
        *file = StoredFile { data, payload };
        Ok(())
    }

    pub(super) fn set_digest(&mut self, inode: InodeIndex, digest: Digest) {
        *self.digests.get_mut(inode.index()).expect("there is one for each inode") = digest;
    }

    /// Stores one file as another one.
    pub(super) fn copy(&mut self, from: InodeIndex, to: InodeIndex) {
        let (stored, digest) = (self.get(from), self.digest(from));
        *self.files.get_mut(to.index()).expect("there is one for each inode") = stored;
        self.set_digest(to, digest);
    }
}
