//! Where do the blocks of files go, and what must be remembered of them?

use std::{fs::File, os::unix::fs::FileExt, sync::Arc};

use lith_format::{
    addr::{Blkaddr, BlockBits},
    chunk::ChunkFormat,
    zmap::{EncodeParams, EncodedExtent, compact_offset, encode_compact, encode_full},
};
use lith_tree::{Content, InodeIndex};

use crate::{
    BuildError, Digest, DigestOfPieces, IndexForm, PIECE,
    compress::{Blocks, Origin, Outcome, Piece, Sources, Stored, granule_for, is_gain},
    holes,
    place::map_header,
    plan::Plan,
    spool::{Spool, Spooled},
};

/// How a regular file's content is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FileData {
    /// There is none.
    #[default]
    Empty,
    /// Blocks from `start` on; the payload is the inline tail.
    Flat { start: u64 },
    /// Pclusters; the payload is the map header and its table.
    Compressed { blocks: u64, index: IndexForm },
    /// Chunks; the payload is their table.
    Chunked(ChunkFormat),
}

/// How a regular file is stored, and what waits in the spool to be put beside its inode.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StoredFile {
    pub(crate) data: FileData,
    pub(crate) payload: Spooled,
}

/// Blocks must have addresses of 32 bits, and the last two values mean other things.
const MAX_BLOCKS: u64 = u32::MAX as u64 - 1;

/// Writes the blocks of files one after another.
pub(crate) struct DataWriter<'a> {
    sources: Sources<'a>,
    plan: &'a Plan,
    image: &'a File,
    /// The next free block.
    pub(crate) next: u64,
    pub(crate) spool: Spool,
    /// By inode.
    pub(crate) files: Vec<StoredFile>,
    /// By inode.
    pub(crate) digests: Vec<Digest>,
    large: Option<Large<'a>>,
}

/// A file of which some pieces are written.
struct Large<'a> {
    content: Arc<dyn Content + 'a>,
    start: u64,
    digest: DigestOfPieces,
    extents: Vec<EncodedExtent>,
    holes: Vec<bool>,
    granule: u32,
    tail: Vec<u8>,
}

impl<'a> DataWriter<'a> {
    /// Writes to `image` from block `start` on.
    pub(crate) fn new(sources: Sources<'a>, plan: &'a Plan, image: &'a File, start: u64) -> Self {
        let options = sources.options;
        let inodes = sources.tree.len();
        Self {
            sources,
            plan,
            image,
            next: start,
            spool: Spool::new(&options.temporary, options.memory / 8),
            files: vec![StoredFile::default(); inodes],
            digests: vec![Digest::default(); inodes],
            large: None,
        }
    }

    fn block(&self) -> BlockBits {
        self.sources.options.block
    }

    /// Writes a batch's blocks and remembers its files.
    pub(crate) fn write(
        &mut self,
        pieces: &[Piece<'a>],
        outcomes: Vec<Outcome>,
        blocks: &Blocks,
    ) -> Result<(), BuildError> {
        self.append(&blocks.data)?;
        let mut start = self.next - self.block().blocks_for(blocks.data.len() as u64);
        let mut tails = &*blocks.tails;
        for (piece, outcome) in pieces.iter().zip(outcomes) {
            let (tail, rest) =
                tails.split_at_checked(outcome.tail as usize).unwrap_or((tails, &[]));
            tails = rest;
            let end = start + u64::from(outcome.blocks);
            match &piece.origin {
                Origin::Whole => self.finish_whole(piece, &outcome, start, tail)?,
                Origin::Part(content) => {
                    self.add_part(piece, outcome, (content, start), tail)?;
                }
            }
            start = end;
        }
        Ok(())
    }

    fn append(&mut self, data: &[u8]) -> Result<(), BuildError> {
        let position = self.next * u64::from(self.block().size());
        self.next += self.block().blocks_for(data.len() as u64);
        if self.next > MAX_BLOCKS {
            return Err(BuildError::TooLarge { limit: MAX_BLOCKS });
        }
        self.image
            .write_all_at(data, position)
            .map_err(|source| BuildError::Output { action: "write", source })
    }

    fn finish_whole(
        &mut self,
        piece: &Piece<'_>,
        outcome: &Outcome,
        start: u64,
        tail: &[u8],
    ) -> Result<(), BuildError> {
        let (inode, size) = (piece.inode, piece.range.end);
        self.set_digest(
            inode,
            outcome.digests.iter().copied().collect::<DigestOfPieces>().finish(),
        );
        match &outcome.stored {
            Stored::Raw => self.set(inode, FileData::Flat { start }, tail),
            Stored::Pclusters(extents) => self.set_compressed(inode, size, start, extents),
            Stored::Sparse { holes } => self.set_chunked(inode, size, start, holes),
        }
    }

    fn add_part(
        &mut self,
        piece: &Piece<'a>,
        outcome: Outcome,
        (content, start): (&Arc<dyn Content + 'a>, u64),
        tail: &[u8],
    ) -> Result<(), BuildError> {
        let size = if piece.last { piece.range.end } else { u64::MAX };
        let mut large = self.large.take().unwrap_or_else(|| Large {
            content: Arc::clone(content),
            start,
            digest: DigestOfPieces::default(),
            extents: Vec::new(),
            holes: Vec::new(),
            granule: granule_of(piece),
            tail: Vec::new(),
        });
        large.digest.extend(outcome.digests);
        large.tail.extend_from_slice(tail);
        match outcome.stored {
            Stored::Pclusters(extents) => large.extents.extend(extents),
            Stored::Sparse { holes } => large.holes.extend(holes),
            Stored::Raw => {
                let granules = (piece.range.end - piece.range.start).div_ceil(large.granule.into());
                large.holes.extend((0..granules).map(|_| false));
            }
        }
        if piece.last {
            self.finish_large(piece.inode, size, large)
        } else {
            self.large = Some(large);
            Ok(())
        }
    }

    fn finish_large(
        &mut self,
        inode: InodeIndex,
        size: u64,
        large: Large<'_>,
    ) -> Result<(), BuildError> {
        self.set_digest(inode, large.digest.finish());
        if !large.extents.is_empty() {
            let written = (self.next - large.start) * u64::from(self.block().size());
            if is_gain(self.sources.options, size, written) {
                self.set_compressed(inode, size, large.start, &large.extents)?;
            } else {
                self.rewrite_plain(inode, size, &large)?;
            }
        } else if large.holes.contains(&true) {
            // A file with holes has no inline tail.
            let mut last = large.tail;
            last.resize(last.len().next_multiple_of(self.block().size() as usize), 0);
            self.append(&last)?;
            self.set_chunked(inode, size, large.start, &large.holes)?;
        } else {
            self.set(inode, FileData::Flat { start: large.start }, &large.tail)?;
        }
        Ok(large.content.check_unchanged()?)
    }

    /// Puts a file's bytes as they are in the place of its pclusters, which gained too little.
    fn rewrite_plain(
        &mut self,
        inode: InodeIndex,
        size: u64,
        large: &Large<'_>,
    ) -> Result<(), BuildError> {
        self.next = large.start;
        let tail = crate::place::inline_tail(self.sources, self.plan, inode, size);
        let end = size - u64::from(tail);
        let mut buf = Vec::new();
        let mut digest = DigestOfPieces::default();
        for start in (0..size).step_by(usize::try_from(PIECE).unwrap_or(usize::MAX)) {
            let len = PIECE.min(size - start);
            buf.resize(usize::try_from(len).unwrap_or(usize::MAX), 0);
            large.content.read_at(&mut buf, start)?;
            digest.push(Digest::of_piece(&buf));
            buf.truncate(usize::try_from(end.saturating_sub(start).min(len)).unwrap_or(0));
            buf.resize(buf.len().next_multiple_of(self.block().size() as usize), 0);
            self.append(&buf)?;
        }
        self.set_digest(inode, digest.finish());
        let mut rest = vec![0; tail as usize];
        large.content.read_at(&mut rest, end)?;
        self.set(inode, FileData::Flat { start: large.start }, &rest)
    }

    fn set_compressed(
        &mut self,
        inode: InodeIndex,
        size: u64,
        start: u64,
        extents: &[EncodedExtent],
    ) -> Result<(), BuildError> {
        let options = self.sources.options;
        let mut params = EncodeParams::new(options.block, size, Blkaddr(start), 0);
        params.big_pcluster = options.pcluster_size() > options.block.size();
        let header = map_header(self.sources, self.plan, inode, size);
        // Packs of 14 KiB lclusters and more can't hold an offset inside.
        let index = if options.block.bits() > 14 { IndexForm::Full } else { options.index };
        let table = match index {
            IndexForm::Full => encode_full(extents, &params, None),
            IndexForm::Compact => {
                let e = compact_offset(header).map_or(0, |at| u8::try_from(at % 32).unwrap_or(0));
                encode_compact(extents, &params, e)
            }
        };
        let table = table.map_err(|error| self.unencodable(inode, "index", &error))?;
        let blocks = extents.iter().map(|e| u64::from(e.blocks)).sum();
        self.set(inode, FileData::Compressed { blocks, index }, &table)
    }

    fn set_chunked(
        &mut self,
        inode: InodeIndex,
        size: u64,
        start: u64,
        holes: &[bool],
    ) -> Result<(), BuildError> {
        let granule = granule_for(size, self.block());
        let (format, table) = holes::encode_chunk_table(holes, granule, self.block(), start)
            .map_err(|error| self.unencodable(inode, "chunk table", &error))?;
        self.set(inode, FileData::Chunked(format), &table)
    }

    fn unencodable(
        &self,
        inode: InodeIndex,
        part: &'static str,
        error: &impl ToString,
    ) -> BuildError {
        let path = self.sources.tree.path(inode);
        BuildError::Encode { path, part, problem: error.to_string() }
    }

    fn set(&mut self, inode: InodeIndex, data: FileData, payload: &[u8]) -> Result<(), BuildError> {
        let payload = self.spool.push(payload)?;
        if let Some(file) = self.files.get_mut(inode.index()) {
            *file = StoredFile { data, payload };
        }
        Ok(())
    }

    fn set_digest(&mut self, inode: InodeIndex, digest: Digest) {
        if let Some(slot) = self.digests.get_mut(inode.index()) {
            *slot = digest;
        }
    }
}

fn granule_of(piece: &Piece<'_>) -> u32 {
    match piece.form {
        crate::compress::Form::Raw { granule: Some(granule) } => granule,
        _ => u32::try_from(PIECE).unwrap_or(u32::MAX),
    }
}
