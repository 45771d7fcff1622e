//! Where do the blocks of files go, and what must be remembered of them?

use std::{collections::HashMap, sync::Arc};

use lith_format::{
    addr::{Blkaddr, BlockBits},
    chunk::ChunkFormat,
    zmap::{EncodeParams, EncodedExtent, HeadKind, Tail, encode_whole_fragment},
};
use lith_tree::{Content, InodeIndex};

use crate::{
    BuildError, Digest, DigestOfPieces, IndexForm, Output, PIECE,
    chunks::{ChunkStore, Runs},
    codings::Used,
    compress::{
        Blocks, Chunk, Form, Fragment, Look, Looked, Origin, Outcome, Packed, Piece, Place, Rest,
        Shared, Sources, Stored, is_gain, originals,
    },
    devices::Blob,
    index::encode_index,
    options::algorithm_of,
    place::{map_header, packed_directories, past_no_address},
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
    /// Pclusters, or a fragment; the payload is the map header, its table, and `inline` bytes of the last pcluster.
    Compressed { blocks: u64, index: IndexForm, inline: u16 },
    /// Chunks, of which some are holes if it is sparse; the payload is their table.
    Chunked { format: ChunkFormat, sparse: bool },
}

/// How a regular file is stored, and what waits in the spool to be put beside its inode.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StoredFile {
    pub(crate) data: FileData,
    pub(crate) payload: Spooled,
}

/// A file's pclusters.
#[derive(Clone, Copy)]
struct Pclusters<'t> {
    inode: InodeIndex,
    /// Bytes of the file.
    size: u64,
    /// The block of the first one.
    start: u64,
    /// Of all of them, if they don't follow each other.
    addresses: &'t Option<Vec<Blkaddr>>,
    /// The last one, if it lies beside the inode.
    tail: &'t [u8],
}

/// Writes the blocks of files one after another.
pub(crate) struct DataWriter<'a> {
    pub(crate) sources: Sources<'a>,
    pub(crate) plan: &'a Plan,
    pub(crate) image: Output<'a>,
    /// The next free block.
    pub(crate) next: u64,
    pub(crate) spool: Spool,
    /// By inode.
    pub(crate) files: Vec<StoredFile>,
    /// By inode.
    pub(crate) digests: Vec<Digest>,
    /// What some file is compressed by.
    pub(crate) used: Used,
    pub(crate) chunks: ChunkStore,
    /// Where chunks go, if not to the image.
    pub(crate) blob: Option<Blob<'a>>,
    large: Option<Large<'a>>,
    /// What files fall into that were looked at for that.
    looked: Vec<Looked>,
    /// Where the pclusters of segments lie that others refer to.
    segments: HashMap<Place, Vec<Blkaddr>>,
    /// Whether some pcluster has more than one extent.
    pub(crate) has_shared: bool,
    /// What shall lie in the packed inode, and what lies before it in the same file.
    fragments: Vec<(Fragment, Head)>,
}

/// The pclusters of a file whose end is a fragment.
struct Head {
    start: u64,
    extents: Vec<EncodedExtent>,
    addresses: Option<Vec<Blkaddr>>,
}

/// A file of which some pieces are written.
struct Large<'a> {
    content: Arc<dyn Content + 'a>,
    start: u64,
    digest: DigestOfPieces,
    extents: Vec<EncodedExtent>,
    /// Of the extents, if they don't follow each other.
    addresses: Option<Vec<Blkaddr>>,
    chunks: Vec<Chunk>,
    holes: Vec<bool>,
    granule: u32,
    /// Where its chunks lie.
    runs: Runs,
    tail: Vec<u8>,
    rest: Option<Rest>,
}

impl<'a> DataWriter<'a> {
    /// Writes to `image` from block `start` on.
    pub(crate) fn new(sources: Sources<'a>, plan: &'a Plan, image: Output<'a>, start: u64) -> Self {
        let (options, context) = (sources.options, sources.context);
        // Two more for the packed inode and the metabox.
        let inodes = sources.tree.len() + 2;
        Self {
            sources,
            plan,
            image,
            next: start,
            spool: Spool::new(context.temporary, context.memory / 8),
            files: vec![StoredFile::default(); inodes],
            digests: vec![Digest::default(); inodes],
            used: Used::default(),
            chunks: ChunkStore::new(options.layout.block, options.layout.share_duplicates),
            blob: context.blob.map(|file| Blob { file, next: 0 }),
            large: None,
            looked: Vec::new(),
            segments: HashMap::new(),
            has_shared: false,
            fragments: Vec::new(),
        }
    }

    pub(crate) const fn block(&self) -> BlockBits {
        self.sources.options.layout.block
    }

    /// Writes a batch's blocks and remembers its files.
    pub(crate) fn write(
        &mut self,
        pieces: &[Piece<'a>],
        outcomes: Vec<Outcome>,
        blocks: &Blocks,
    ) -> Result<(), BuildError> {
        // Pieces that follow each other are written at once.
        let together =
            if self.sources.options.layout.alignment > 1 { 1 } else { pieces.len().max(1) };
        let (mut data, mut tails, mut chunks) = (&*blocks.data, &*blocks.tails, &*blocks.chunks);
        let mut outcomes = outcomes.into_iter();
        for pieces in pieces.chunks(together) {
            let outcomes: Vec<_> = outcomes.by_ref().take(pieces.len()).collect();
            let count: u64 = outcomes.iter().map(|outcome| u64::from(outcome.blocks)).sum();
            let bytes = usize::try_from(count).unwrap_or(usize::MAX) * self.block().size() as usize;
            let (own, more) = data.split_at_checked(bytes).unwrap_or((data, &[]));
            data = more;
            self.begin(count);
            let mut start = self.next;
            self.append(own)?;
            for (piece, outcome) in pieces.iter().zip(outcomes) {
                let (tail, rest) =
                    tails.split_at_checked(outcome.tail as usize).unwrap_or((tails, &[]));
                tails = rest;
                let end = start + u64::from(outcome.blocks);
                let beside = (tail, &mut chunks);
                match &piece.origin {
                    Origin::Whole => self.finish_whole(piece, &outcome, start, beside)?,
                    Origin::Part(content) => {
                        self.add_part(piece, outcome, (content, start), beside)?;
                    }
                }
                start = end;
            }
            self.flush_chunks()?;
        }
        Ok(())
    }

    /// Goes to where the next `count` blocks can begin if they are the first of a file.
    fn begin(&mut self, count: u64) {
        let is_first = self.large.as_ref().is_none_or(|large| large.start == self.next);
        if count == 0 || !is_first {
            return;
        }
        let alignment = self.sources.options.layout.alignment.into();
        let start = self.next.next_multiple_of(alignment);
        self.next = past_no_address(start, count).next_multiple_of(alignment);
        if let Some(large) = &mut self.large {
            large.start = self.next;
        }
    }

    /// Where a piece's pclusters lie, if some are others' or others refer to them.
    fn addresses(
        &mut self,
        piece: &Piece<'_>,
        outcome: &Outcome,
        start: u64,
    ) -> Option<Vec<Blkaddr>> {
        let repeats = self.sources.repeats(piece.inode)?;
        let Stored::Pclusters(extents) = &outcome.stored else { return None };
        let own = piece.place();
        let mut shared = outcome.shared.iter().peekable();
        let mut next = start;
        let mut addresses = Vec::with_capacity(extents.len());
        for (number, extent) in (0..).zip(extents) {
            let other = shared.next_if(|(at, _)| *at == number).map(|(_, other)| other);
            addresses.push(match other {
                Some(Shared { segment, number }) => {
                    self.has_shared = true;
                    let all = self.segments.get(segment);
                    let all = if *segment == own { Some(&addresses) } else { all };
                    let known = all.and_then(|all| all.get(*number as usize));
                    // Whoever refers to it comes after it.
                    known.copied().unwrap_or(Blkaddr(u64::MAX))
                }
                None => Blkaddr(next),
            });
            next += if other.is_none() { extent.blocks.into() } else { 0 };
        }
        if repeats.is_referred_to(own) {
            self.segments.insert(own, addresses.clone());
        }
        Some(addresses)
    }

    /// Takes what files fall into that were looked at for that.
    pub(crate) fn take_looked(&mut self) -> Vec<Looked> {
        std::mem::take(&mut self.looked)
    }

    fn append(&mut self, data: &[u8]) -> Result<(), BuildError> {
        let position = self.next * u64::from(self.block().size());
        self.advance(self.block().blocks_for(data.len() as u64))?;
        self.image
            .write_all_at(data, position)
            .map_err(|source| BuildError::Output { action: "write", source })
    }

    /// Takes the next blocks.
    pub(crate) const fn advance(&mut self, blocks: u64) -> Result<(), BuildError> {
        self.next += blocks;
        let limit = self.sources.options.most_blocks();
        if self.next > limit { Err(BuildError::TooLarge { limit }) } else { Ok(()) }
    }

    fn finish_whole(
        &mut self,
        piece: &Piece<'_>,
        outcome: &Outcome,
        start: u64,
        (tail, chunk_bytes): (&[u8], &mut &[u8]),
    ) -> Result<(), BuildError> {
        let (inode, size) = (piece.inode, piece.range.end);
        if let Form::Later(Look::Chunks { .. }) = piece.form {
            self.looked.push(Looked { inode, chunks: outcome.chunks.clone() });
            return Ok(());
        }
        let addresses = &self.addresses(piece, outcome, start);
        self.set_digest(inode, Digest::of_file(&outcome.digests));
        match &outcome.stored {
            Stored::Raw => self.set(inode, FileData::Flat { start }, tail),
            Stored::Pclusters(extents) => {
                let file = Pclusters { inode, size, start, addresses, tail };
                self.set_pclusters(&file, extents, outcome.rest)
            }
            Stored::Sparse { holes } => self.set_sparse(inode, size, start, holes),
            Stored::Chunks(chunks) => {
                let mut runs = Runs::default();
                self.put_chunks(chunks, chunk_bytes, &mut runs)?;
                self.set_runs(inode, &runs)
            }
            Stored::Later => {
                let file = Pclusters { inode, size, start, addresses, tail };
                self.set_pclusters(&file, &[], outcome.rest)
            }
        }
    }

    fn add_part(
        &mut self,
        piece: &Piece<'a>,
        outcome: Outcome,
        (content, start): (&Arc<dyn Content + 'a>, u64),
        (tail, chunk_bytes): (&[u8], &mut &[u8]),
    ) -> Result<(), BuildError> {
        let size = if piece.last { piece.range.end } else { u64::MAX };
        let addresses = self.addresses(piece, &outcome, start);
        let mut large = self.large.take().unwrap_or_else(|| Large {
            content: Arc::clone(content),
            start,
            digest: DigestOfPieces::default(),
            extents: Vec::new(),
            addresses: None,
            chunks: Vec::new(),
            holes: Vec::new(),
            granule: granule_of(piece),
            runs: Runs::default(),
            tail: Vec::new(),
            rest: None,
        });
        large.digest.extend(outcome.digests);
        large.chunks.extend(outcome.chunks);
        if let Some(addresses) = addresses {
            large.addresses.get_or_insert_default().extend(addresses);
        }
        large.tail.extend_from_slice(tail);
        match outcome.stored {
            Stored::Pclusters(extents) => {
                large.extents.extend(extents);
                large.rest = outcome.rest;
            }
            // The file's sketch is that of its first piece.
            Stored::Later => large.rest = large.rest.or(outcome.rest),
            Stored::Sparse { holes } => large.holes.extend(holes),
            Stored::Chunks(chunks) => self.put_chunks(&chunks, chunk_bytes, &mut large.runs)?,
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
        if !large.chunks.is_empty() {
            self.looked.push(Looked { inode, chunks: large.chunks });
            return Ok(large.content.check_unchanged()?);
        }
        let digest = large.digest.finish();
        self.set_digest(inode, digest);
        let Large { start, ref extents, ref addresses, ref tail, rest, .. } = large;
        if !extents.is_empty() {
            let written = (self.next - start) * u64::from(self.block().size()) + tail.len() as u64;
            let before = size - rest.map_or(0, |rest| rest.len.into());
            // Others may refer to them.
            let must_stay = addresses.is_some();
            if must_stay || is_gain(self.sources, inode, before, written) {
                let file = Pclusters { inode, size, start, addresses, tail };
                self.set_pclusters(&file, extents, rest)?;
            } else {
                self.rewrite_plain(inode, size, &large)?;
            }
        } else if let Some(Rest { sketch, .. }) = rest {
            let fragment = Fragment { inode, start: 0, len: size, digest, sketch };
            self.fragments.push((fragment, Head { start, extents: Vec::new(), addresses: None }));
        } else if !large.runs.is_empty() {
            self.set_runs(inode, &large.runs)?;
        } else if large.holes.contains(&true) {
            // A file with holes has no inline tail.
            let mut last = large.tail;
            last.resize(last.len().next_multiple_of(self.block().size() as usize), 0);
            self.append(&last)?;
            self.set_sparse(inode, size, large.start, &large.holes)?;
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
        if let Some(chunks) = self.sources.chunks(inode) {
            return self.rewrite_in_chunks((inode, size), &*large.content, large.start, chunks);
        }
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

    /// Remembers pclusters, unless a fragment follows them whose place is not known yet.
    fn set_pclusters(
        &mut self,
        file: &Pclusters<'_>,
        extents: &[EncodedExtent],
        rest: Option<Rest>,
    ) -> Result<(), BuildError> {
        let Pclusters { inode, size, start, addresses, tail } = *file;
        if let Some(Rest { len, digest, sketch }) = rest {
            let len = u64::from(len);
            let fragment = Fragment { inode, start: size - len, len, digest, sketch };
            let (extents, addresses) = (extents.to_vec(), addresses.clone());
            self.fragments.push((fragment, Head { start, extents, addresses }));
            return Ok(());
        }
        let tail_place = match u16::try_from(tail.len()) {
            Ok(size @ 1..) => Tail::Inline { size },
            _ => Tail::Blocks,
        };
        self.set_compressed(file, extents, tail_place)
    }

    fn set_compressed(
        &mut self,
        file: &Pclusters<'_>,
        extents: &[EncodedExtent],
        tail: Tail,
    ) -> Result<(), BuildError> {
        let Pclusters { inode, size, start, addresses, .. } = *file;
        let options = self.sources.options;
        let coding = self.sources.coding(inode);
        let makers = coding.map(|coding| self.used.add(coding, extents)).unwrap_or_default();
        let id = |maker: Option<_>| maker.map_or(0, |compressor| algorithm_of(compressor).id());
        let mut params =
            EncodeParams::new(options.layout.block, size, Blkaddr(start), id(makers.head1));
        params.head2 = id(makers.head2);
        params.big_pcluster = options.has_configs();
        params.tail = tail;
        let header = map_header(self.sources, self.plan, inode, size);
        let form = (options.compression.index, options.is_wide());
        let index = encode_index(extents, addresses.as_deref(), &params, header, form);
        let (index, mut table) = index.map_err(|error| self.unencodable(inode, "index", &error))?;
        let (in_blocks, inline) = match (tail, extents.split_last()) {
            (Tail::Blocks, _) | (_, None) => (extents, 0),
            (Tail::Inline { size }, Some((_, others))) => (others, size),
            (Tail::Fragment { .. }, Some((_, others))) => (others, 0),
        };
        let blocks = in_blocks.iter().map(|e| u64::from(e.blocks)).sum();
        table.extend_from_slice(file.tail);
        self.set(inode, FileData::Compressed { blocks, index, inline }, &table)
    }

    /// Which of the files that were only looked at have the bytes of another, which comes first. Both have the same
    /// room beside their inodes, so that what is stored of one does for the other.
    pub(crate) fn take_duplicates(
        &mut self,
    ) -> Result<HashMap<InodeIndex, InodeIndex>, BuildError> {
        let looked_at = std::mem::take(&mut self.fragments);
        let files: Vec<Fragment> = looked_at.into_iter().map(|(file, _)| file).collect();
        let originals = originals(self.sources, &files)?;
        let pairs = files.iter().zip(originals.iter().filter_map(|at| files.get(*at)));
        let header = |file: &Fragment| map_header(self.sources, self.plan, file.inode, file.len);
        let pairs = pairs.filter(|(file, original)| header(file) == header(original));
        let pairs = pairs.map(|(file, original)| (file.inode, original.inode));
        Ok(pairs.filter(|(file, original)| file != original).collect())
    }

    /// Gives files what is stored of others.
    pub(crate) fn share(&mut self, duplicates: &HashMap<InodeIndex, InodeIndex>) {
        for (file, original) in duplicates {
            let stored = self.files.get(original.index()).copied();
            if let (Some(slot), Some(stored)) = (self.files.get_mut(file.index()), stored) {
                *slot = stored;
            }
        }
    }

    /// Puts the fragments in order, from which the packed inode follows, if there are any or directories behind them.
    pub(crate) fn pack(&mut self) -> Result<(), BuildError> {
        let fragments = std::mem::take(&mut self.fragments);
        let directories = packed_directories(self.sources, self.plan);
        if fragments.is_empty() && directories.is_empty() {
            return Ok(());
        }
        let (parts, heads): (Vec<_>, Vec<_>) = fragments.into_iter().unzip();
        let is_plain = self.sources.options.has_plain_prefixes();
        let head = if is_plain { Vec::new() } else { self.plan.xattrs.prefixes.encode() };
        let (packed, positions) = {
            let bytes = directories.iter().map(|(_, size)| size).sum();
            Packed::new(self.sources, self.plan.epoch, head, &parts, bytes)?
        };
        let mut position = packed.directories_start;
        for (inode, size) in directories {
            self.set_whole_fragment(inode, position)?;
            position += size;
        }
        // It is set nowhere else.
        let _first = self.sources.packed.set(packed);
        for ((fragment, head), position) in parts.iter().zip(heads).zip(positions) {
            self.set_fragment(fragment, head, position)?;
        }
        Ok(())
    }

    /// Stores all of a file, or of a directory, at `offset` in the packed inode.
    fn set_whole_fragment(&mut self, inode: InodeIndex, offset: u64) -> Result<(), BuildError> {
        if let Some(coding) = self.sources.coding(inode) {
            self.used.add(coding, &[]);
        }
        let data = FileData::Compressed { blocks: 0, index: IndexForm::Full, inline: 0 };
        self.set(inode, data, &encode_whole_fragment(offset))
    }

    fn set_fragment(
        &mut self,
        fragment: &Fragment,
        head: Head,
        offset: u64,
    ) -> Result<(), BuildError> {
        let Fragment { inode, start: begin, len, .. } = *fragment;
        let Head { start, mut extents, mut addresses } = head;
        if begin == 0 {
            return self.set_whole_fragment(inode, offset);
        }
        // A pcluster's bytes at most.
        let llen = u32::try_from(len).unwrap_or(u32::MAX);
        extents.push(EncodedExtent { llen, blocks: 0, kind: HeadKind::Head1, partial: false });
        if let Some(addresses) = &mut addresses {
            // Not looked at.
            addresses.push(Blkaddr(0));
        }
        let addresses = &addresses;
        let file = Pclusters { inode, size: begin + len, start, addresses, tail: &[] };
        self.set_compressed(&file, &extents, Tail::Fragment { offset })
    }

    pub(crate) fn unencodable(
        &self,
        inode: InodeIndex,
        part: &'static str,
        error: &impl ToString,
    ) -> BuildError {
        let path = self.sources.path(inode);
        BuildError::Encode { path, part, problem: error.to_string() }
    }

    pub(crate) fn set(
        &mut self,
        inode: InodeIndex,
        data: FileData,
        payload: &[u8],
    ) -> Result<(), BuildError> {
        let payload = self.spool.push(payload)?;
        if let Some(file) = self.files.get_mut(inode.index()) {
            *file = StoredFile { data, payload };
        }
        Ok(())
    }

    pub(crate) fn set_digest(&mut self, inode: InodeIndex, digest: Digest) {
        if let Some(slot) = self.digests.get_mut(inode.index()) {
            *slot = digest;
        }
    }
}

fn granule_of(piece: &Piece<'_>) -> u32 {
    match piece.form {
        Form::Raw { granule: Some(granule) } => granule,
        _ => u32::try_from(PIECE).unwrap_or(u32::MAX),
    }
}
