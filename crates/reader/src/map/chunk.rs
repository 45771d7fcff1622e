//! Maps a chunk-based file.

use lith_format::{
    addr::La,
    chunk::{Chunk, ChunkFormat},
};

use crate::{
    error::{Corruption, Fault},
    extent::{Extent, ExtentKind, Place},
    inode::Inode,
    metadata::{Metadata, View},
};

/// The most chunks that become one extent: enough that reads are long, few enough that one step is quick.
const RUN: u64 = 512;

/// The chunk table of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunks {
    format: ChunkFormat,
    /// Where the table starts in the inode's metadata space.
    table: u64,
}

impl Chunks {
    pub(super) fn new(inode: &Inode, format: ChunkFormat) -> Result<Self, Fault> {
        Ok(Self { format, table: inode.layout_position()? })
    }

    /// The bytes from `la` on to the end of the contiguous chunks, or of the holes, that hold it.
    pub(super) fn at(
        &self,
        metadata: &dyn Metadata,
        inode: &Inode,
        view: &mut View<'_>,
        la: u64,
    ) -> Result<Extent, Fault> {
        let block = metadata.superblock().block;
        let chunk_size = self.format.chunk_size(block);
        let first = self.format.chunk_of(La(la), block);
        let chunk = self.load(view, first)?;
        let chunks = self.format.count(inode.size, block);
        let mut last = first;
        while last + 1 < chunks.min(first.saturating_add(RUN)) {
            let follower = following(chunk, (last + 1 - first) * (chunk_size >> block.bits()));
            if Some(self.load(view, last + 1)?) != follower {
                break;
            }
            last += 1;
        }
        let end = (last + 1).saturating_mul(chunk_size).min(inode.size);
        let len = end - la;
        let Some(start) = chunk.start else { return Ok(Extent::hole(la, len)) };
        let within = la - first * chunk_size;
        let place = metadata.devices().place(block, chunk.device, start, within)?;
        let place = Place::Device(place);
        Ok(Extent { la, len, kind: ExtentKind::Chunk, place, plen: len })
    }

    /// Where the table ends.
    pub(super) fn table_end(&self, metadata: &dyn Metadata, inode: &Inode) -> Option<u64> {
        let count = self.format.count(inode.size, metadata.superblock().block);
        self.table.checked_add(count.checked_mul(self.format.unit() as u64)?)
    }

    fn load(&self, view: &mut View<'_>, number: u64) -> Result<Chunk, Fault> {
        let mut entry = [0; 8];
        let (entry, _) = entry.split_at_mut(self.format.unit());
        let position = number.checked_mul(entry.len() as u64);
        let position = position.and_then(|position| position.checked_add(self.table));
        view.read(position.ok_or(Corruption::Address)?, entry)?;
        Ok(Chunk::parse(self.format, entry)?)
    }
}

/// The chunk that starts `blocks` after `chunk`. `None`: its address overflows.
fn following(chunk: Chunk, blocks: u64) -> Option<Chunk> {
    let Some(start) = chunk.start else { return Some(chunk) };
    Some(Chunk { device: chunk.device, start: Some(start.checked_add(blocks)?) })
}
