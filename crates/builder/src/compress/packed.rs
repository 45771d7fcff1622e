//! What lies in the packed inode, and in what order?
//!
//! Small files and the ends of large ones are put together into one inode without a name, whose pclusters they
//! share: none of them wastes the rest of a block, and each helps to compress those that are like it.

use std::sync::OnceLock;

use lith_tree::{Content, ContentError, DataRange, Inode, InodeIndex, Kind, Metadata, Timestamp};

use super::{
    Sources,
    duplicates::originals,
    sketch::{Sketch, by_likeness},
};
use crate::{Digest, metabox::Temporary};

/// The end of a file, or all of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fragment {
    pub(crate) inode: InodeIndex,
    /// Where it begins in the file.
    pub(crate) start: u64,
    pub(crate) len: u64,
    pub(crate) digest: Digest,
    pub(crate) sketch: Sketch,
}

/// A fragment and where in the packed inode its bytes begin.
#[derive(Clone, Copy, Debug)]
struct Part {
    position: u64,
    inode: InodeIndex,
    start: u64,
    len: u64,
}

/// The packed inode: a file that no directory names.
#[derive(Debug)]
pub(crate) struct Packed {
    pub(crate) index: InodeIndex,
    pub(crate) node: Inode,
    /// What precedes all fragments: the long prefixes of extended attributes, for kernels that look for them here.
    head: Vec<u8>,
    /// In the order of their positions, without gaps.
    parts: Vec<Part>,
    /// Where the directories behind the fragments begin.
    pub(crate) directories_start: u64,
    /// Those, once they are known.
    pub(crate) directories: OnceLock<Temporary>,
}

impl Packed {
    /// Puts the fragments in order behind `head`, before `directories` bytes of directories, and says for each where it
    /// begins. Fragments of equal bytes are stored once.
    pub(crate) fn new(
        sources: Sources<'_>,
        time: Timestamp,
        head: Vec<u8>,
        fragments: &[Fragment],
        directories: u64,
    ) -> Result<(Self, Vec<u64>), ContentError> {
        let originals = originals(sources, fragments)?;
        let first: Vec<usize> =
            (0..fragments.len()).filter(|at| originals.get(*at) == Some(at)).collect();
        let sketches: Vec<Sketch> =
            first.iter().filter_map(|at| fragments.get(*at)).map(|f| f.sketch).collect();
        let mut positions = vec![0; fragments.len()];
        let mut parts = Vec::with_capacity(first.len());
        let mut position = head.len() as u64;
        for at in by_likeness(&sketches).into_iter().filter_map(|rank| first.get(rank)) {
            let Some(Fragment { inode, start, len, .. }) = fragments.get(*at).copied() else {
                continue;
            };
            if let Some(slot) = positions.get_mut(*at) {
                *slot = position;
            }
            parts.push(Part { position, inode, start, len });
            position += len;
        }
        let found = |original: &usize| positions.get(*original).copied().unwrap_or(0);
        let positions = originals.iter().map(found).collect();
        let metadata = Metadata { permissions: 0o644, mtime: time, ..Metadata::default() };
        let node = Inode::nameless(metadata, Kind::Regular { size: position + directories });
        let packed = Self {
            index: sources.tree.next_index(),
            node,
            head,
            parts,
            directories_start: position,
            directories: OnceLock::new(),
        };
        Ok((packed, positions))
    }

    const fn size(&self) -> u64 {
        match self.node.kind {
            Kind::Regular { size } => size,
            _ => 0,
        }
    }

    fn part_at(&self, position: u64) -> Option<&Part> {
        let behind = self.parts.partition_point(|part| part.position <= position);
        self.parts.get(behind.checked_sub(1)?)
    }
}

/// The bytes of the packed inode, from the files that they come from.
pub(crate) struct PackedContent<'a> {
    pub(crate) sources: Sources<'a>,
    pub(crate) packed: &'a Packed,
}

impl Content for PackedContent<'_> {
    fn read_at(&self, mut buf: &mut [u8], mut position: u64) -> Result<(), ContentError> {
        let start = usize::try_from(position).unwrap_or(usize::MAX);
        let head = self.packed.head.get(start..).unwrap_or_default();
        let (now, later) = buf.split_at_mut(head.len().min(buf.len()));
        now.copy_from_slice(head.get(..now.len()).unwrap_or_default());
        position += now.len() as u64;
        buf = later;
        while !buf.is_empty() {
            if let Some(position) = position.checked_sub(self.packed.directories_start)
                && let Some(directories) = self.packed.directories.get()
            {
                return directories.read_at(buf, position);
            }
            let Some(part) = self.packed.part_at(position) else { return Ok(()) };
            let skip = position - part.position;
            let len = usize::try_from(part.len - skip).unwrap_or(usize::MAX).min(buf.len());
            let (now, later) = buf.split_at_mut(len);
            let content = self.sources.open(part.inode)?;
            content.read_at(now, part.start + skip)?;
            content.check_unchanged()?;
            position += len as u64;
            buf = later;
        }
        Ok(())
    }

    fn range_at(&self, _position: u64) -> Result<DataRange, ContentError> {
        Ok(DataRange::Data { end: self.packed.size() })
    }

    /// Each file is looked at when it is read.
    fn check_unchanged(&self) -> Result<(), ContentError> {
        Ok(())
    }
}
