//! Defines [`Writer`], which writes the blocks of files one after another and enters where they are.

use std::{collections::HashMap, mem, ops::Range, sync::Arc};

use lith_format::{
    addr::{Blkaddr, BlockBits},
    compression::AlgorithmSet,
};
use lith_tree::{Content, InodeIndex};

use super::{
    allocator::Allocator,
    chunks::{Blob, ChunkWriter, Granules, HashedChunk, Runs, cut},
    copier::Copier,
    equal::EqualPclusters,
    large::Large,
    layouts::{Layouts, Shared},
    piece::{Blocks, Form, Outcome, Piece, Rest, Stored},
    stored::{Destination, StoredFiles},
    tables::{Pclusters, Tables},
    tail::Tail,
    unread,
    worker::is_gain,
};
use crate::{
    BuildError, Chunks, Digest, DigestOfPieces, PIECE,
    apart::{Apart, DISTANCES, ONE_OF, Placed, Starts},
    limits::CHUNKS,
    pieces::{Origin, Position},
    plan::Geometry,
    scan::{Analysis, Fragment},
    sparse::granule_for,
};

/// Stores one batch after another.
pub(super) struct Writer<'a> {
    geometry: Geometry<'a>,
    analysis: &'a Analysis<'a>,
    allocator: Allocator<'a>,
    chunks: ChunkWriter<'a>,
    tables: Tables<'a>,
    copier: Copier<'a>,
    large: Option<Large<'a>>,
    layouts: &'a Layouts<'a>,
    /// The blocks of the pclusters of segments to which others refer.
    segments: HashMap<Position, Vec<Blkaddr>>,
    equal: EqualPclusters,
    has_shared: bool,
    tails: Vec<Tail>,
    hot: Option<Range<u64>>,
    /// The pclusters on other devices of the file that was written last, if it has some.
    apart: Option<(InodeIndex, Apart)>,
}

impl<'a> Writer<'a> {
    /// Continues after what is `stored`.
    pub(super) fn new(
        geometry: Geometry<'a>,
        analysis: &'a Analysis<'a>,
        Destination { image, context }: Destination<'a>,
        layouts: &'a Layouts<'a>,
        stored: StoredFiles,
    ) -> Self {
        let options = geometry.plan.options;
        let blob = context.blob.map(|file| Blob::new(file, stored.blob_blocks));
        Self {
            geometry,
            analysis,
            allocator: Allocator::new(image, geometry.plan, stored.next),
            chunks: ChunkWriter::new(options, blob),
            tables: Tables::new(geometry, stored.table, stored.used),
            copier: Copier::new(geometry.input.known.copied),
            large: None,
            layouts,
            segments: HashMap::new(),
            equal: EqualPclusters::default(),
            has_shared: stored.has_shared,
            tails: stored.tails,
            hot: stored.hot,
            apart: None,
        }
    }

    /// Everything that is stored now.
    pub(super) fn finish(self) -> StoredFiles {
        StoredFiles {
            table: self.tables.files,
            used: self.tables.used,
            next: self.allocator.next(),
            blob_blocks: self.chunks.blob.map_or(0, |blob| blob.next),
            has_shared: self.has_shared,
            tails: self.tails,
            hot: self.hot,
            hot_packed: self.tables.hot_packed,
        }
    }

    /// Stores the files whose bytes are not read.
    pub(super) fn store_unread(&mut self) -> Result<(), BuildError> {
        let unread = &self.analysis.unread;
        for (inode, how) in unread {
            let file = (*inode, self.geometry.input.size(*inode));
            let stores = (&mut self.allocator, &mut self.copier);
            unread::store_unread(file, how, &mut self.tables, stores)?;
            self.has_shared |= unread::has_partial(how);
        }
        if unread.is_empty() { Ok(()) } else { self.allocator.reach_end() }
    }

    /// Writes a batch's blocks and enters its files.
    pub(super) fn write(
        &mut self,
        pieces: &[Piece<'a>],
        outcomes: Vec<Outcome>,
        blocks: &Blocks,
    ) -> Result<(), BuildError> {
        // Blocks of consecutive pieces are written at once, unless each file is aligned or kept apart.
        let has_parts = |piece: &Piece<'_>| self.analysis.parts.contains_key(&piece.inode);
        let is_alone = self.allocator.alignment() > 1 || pieces.iter().any(has_parts);
        let together = if is_alone { 1 } else { pieces.len().max(1) };
        let (mut data, mut tails, mut chunks) = (&*blocks.data, &*blocks.tails, &*blocks.chunks);
        let mut outcomes = outcomes.into_iter();
        for pieces in pieces.chunks(together) {
            let mut outcomes: Vec<_> = outcomes.by_ref().take(pieces.len()).collect();
            let count: u64 = outcomes.iter().map(|outcome| u64::from(outcome.blocks)).sum();
            let bytes = usize::try_from(count).expect("blocks are in memory");
            let (own, more) = data.split_at(bytes * self.block().size() as usize);
            data = more;
            self.align(count);
            if let ([piece], [outcome]) = (pieces, outcomes.as_slice()) {
                self.keep_apart(piece, outcome)?;
            }
            let mut start = self.allocator.next();
            for new in self.share_equal(pieces, &mut outcomes) {
                self.allocator.append(own.get(new).unwrap_or_default())?;
            }
            for (piece, outcome) in pieces.iter().zip(outcomes) {
                let (tail, more) = tails.split_at(outcome.tail as usize);
                tails = more;
                let end = start + u64::from(outcome.blocks);
                match &piece.origin {
                    Origin::Whole => {
                        self.enter_whole(piece, &outcome, start, (tail, &mut chunks))?;
                    }
                    Origin::Part(content) => {
                        self.add_part(piece, outcome, (content, start), (tail, &mut chunks))?;
                    }
                }
                start = end;
            }
            self.chunks.flush(self.allocator.image())?;
        }
        Ok(())
    }

    const fn block(&self) -> BlockBits {
        self.allocator.block()
    }

    /// Moves to where the next `count` blocks can start if they are the first of a file.
    fn align(&mut self, count: u64) {
        let next = self.allocator.next();
        if count == 0 || self.large.as_ref().is_some_and(|large| large.start != next) {
            return;
        }
        self.allocator.align(count);
        if let Some(large) = &mut self.large {
            large.start = self.allocator.next();
        }
    }

    /// Moves on to where the pclusters of a piece don't seem to follow those of its file that are on other devices.
    fn keep_apart(&mut self, piece: &Piece<'_>, outcome: &Outcome) -> Result<(), BuildError> {
        let devices = self.geometry.input.known.devices.as_slice();
        let Some(parts) = self.analysis.parts.get(&piece.inode) else { return Ok(()) };
        if devices.is_empty() {
            return Ok(());
        }
        let before = self.apart.take().filter(|(inode, _)| *inode == piece.inode);
        let apart = before.map_or_else(
            || {
                let (mut apart, starts) = (Apart::default(), Starts::new(devices));
                parts.extents.iter().for_each(|part| apart.add(&part.placed(&starts)));
                apart
            },
            |(_, apart)| apart,
        );
        let start = self.allocator.next();
        let moved = (0..).map(|number| start + number * self.allocator.alignment());
        let is_clear = |at: u64, distance| {
            own_pclusters(piece, outcome, at).all(|placed| apart.allows(&placed, distance))
        };
        let tried = 1 + usize::try_from(outcome.blocks / ONE_OF).expect("of a segment");
        let far = DISTANCES
            .into_iter()
            .find_map(|distance| moved.clone().take(tried).find(|at| is_clear(*at, distance)));
        // Beyond the ends of all devices nothing touches anything.
        let found = far.or_else(|| moved.clone().find(|at| is_clear(*at, 0))).unwrap_or(start);
        self.apart = Some((piece.inode, apart));
        let blocks = usize::try_from(found - start).expect("less than a device has");
        self.allocator.append(&vec![0; blocks * self.block().size() as usize])
    }

    /// Refers to pclusters that the image has in place of equal ones, where that saves more than the index takes which can
    /// refer to them. Returns which bytes of all blocks of the pieces are new.
    fn share_equal(&mut self, pieces: &[Piece<'_>], outcomes: &mut [Outcome]) -> Vec<Range<usize>> {
        let size = self.block().size() as usize;
        let mut next = self.allocator.next();
        let (mut done, mut new) = (0, Vec::new());
        let mut keep = |bytes: Range<usize>| match new.last_mut() {
            Some(Range { end, .. }) if *end == bytes.start => *end = bytes.end,
            _ => new.push(bytes),
        };
        for (piece, outcome) in pieces.iter().zip(outcomes) {
            let end = done + outcome.blocks as usize * size;
            let own = outcome.own_pclusters();
            if !own.is_empty() {
                let is_gain = self.has_addresses(piece, outcome)
                    || self.equal.is_gain(&own, self.lclusters(piece), self.block());
                for pcluster in own {
                    let bytes = done..done + pcluster.blocks as usize * size;
                    done = bytes.end;
                    if let Some(address) = self.equal.find(&pcluster).filter(|_| is_gain) {
                        outcome.share(&pcluster, address);
                    } else {
                        self.equal.insert(&pcluster, Blkaddr(next));
                        next += u64::from(pcluster.blocks);
                        keep(bytes);
                    }
                }
                outcome.shared.sort_unstable_by_key(|(number, _)| *number);
            }
            if done < end {
                next += ((end - done) / size) as u64;
                keep(done..end);
            }
            done = end;
        }
        new
    }

    /// Whether the index of a piece's file holds the address of each pcluster in any case.
    fn has_addresses(&self, piece: &Piece<'_>, outcome: &Outcome) -> bool {
        let large = self.large.as_ref().filter(|_| piece.range.start > 0);
        !outcome.shared.is_empty()
            || self.analysis.repeats.has(piece.inode)
            || large.is_some_and(|large| large.addresses.is_some())
    }

    fn lclusters(&self, piece: &Piece<'_>) -> u64 {
        self.block().blocks_for(self.geometry.input.size(piece.inode))
    }

    /// The blocks of a piece's pclusters, if some are others' or others refer to them.
    fn addresses(
        &mut self,
        piece: &Piece<'_>,
        outcome: &Outcome,
        start: u64,
    ) -> Result<Option<Vec<Blkaddr>>, BuildError> {
        let repeats = &self.analysis.repeats;
        let Stored::Pclusters(extents) = &outcome.stored else { return Ok(None) };
        let is_apart = repeats.has(piece.inode) || self.analysis.parts.contains_key(&piece.inode);
        if !is_apart && outcome.shared.is_empty() {
            return Ok(None);
        }
        let own = piece.start();
        let mut shared = outcome.shared.iter().peekable();
        let mut next = start;
        let mut addresses = Vec::with_capacity(extents.len());
        for (number, extent) in (0..).zip(extents) {
            let other = shared.next_if(|(at, _)| *at == number).map(|(_, other)| other);
            let address = match other {
                Some(Shared::At(address)) => {
                    self.has_shared |= extent.partial;
                    self.copier.place(*address, extent.blocks.into(), &mut self.allocator)?
                }
                Some(Shared::Segment { segment, number }) => {
                    self.has_shared = true;
                    let all = self.segments.get(segment);
                    let all = if *segment == own { Some(&addresses) } else { all };
                    let known = all.and_then(|all: &Vec<_>| all.get(*number as usize)).copied();
                    known.expect("pclusters are written before those that refer to them")
                }
                Some(Shared::Equal(address)) => {
                    self.has_shared = true;
                    *address
                }
                None => Blkaddr(next),
            };
            addresses.push(address);
            next += if other.is_none() { extent.blocks.into() } else { 0 };
        }
        if self.layouts.has(own) {
            self.segments.insert(own, addresses.clone());
        }
        Ok(Some(addresses))
    }

    fn enter_whole(
        &mut self,
        piece: &Piece<'_>,
        outcome: &Outcome,
        start: u64,
        (tail, chunk_bytes): (&[u8], &mut &[u8]),
    ) -> Result<(), BuildError> {
        let (inode, size) = (piece.inode, piece.range.end);
        let addresses = self.addresses(piece, outcome, start)?;
        self.tables.files.set_digest(inode, Digest::of_file(&outcome.digests));
        match &outcome.stored {
            Stored::Raw => self.tables.set_flat(inode, start, tail),
            Stored::Pclusters(extents) => {
                let addresses = addresses.as_deref();
                let known = self.algorithms_elsewhere(inode);
                let file = Pclusters { inode, size, start, extents, addresses, tail, known };
                self.enter_pclusters(&file, outcome.rest)
            }
            Stored::Sparse { holes } => {
                let mut granules = Granules::default();
                granules.extend(holes);
                self.enter_sparse(inode, size, start, &granules)
            }
            Stored::Hole => unreachable!("the first piece of a file is none"),
            Stored::Chunks(chunks) => {
                let mut runs = Runs::default();
                self.put_chunks(chunks, chunk_bytes, &mut runs)?;
                self.tables.set_runs(inode, &runs)
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
        let addresses = self.addresses(piece, &outcome, start)?;
        if self.large.is_none() {
            self.check_size(piece)?;
        }
        let large = self.large.take();
        let mut large = large.unwrap_or_else(|| Large::new(piece, content, start));
        if let Stored::Chunks(chunks) = large.add(piece, outcome, (start, addresses), tail) {
            self.put_chunks(&chunks, chunk_bytes, &mut large.runs)?;
        }
        if piece.last {
            self.enter_large(piece, large)
        } else {
            self.large = Some(large);
            Ok(())
        }
    }

    /// Refuses a file at its first piece if it can't be stored whole.
    fn check_size(&self, piece: &Piece<'_>) -> Result<(), BuildError> {
        let size = self.geometry.input.size(piece.inode);
        let (parts, most) = match piece.task.form {
            // How many chunks there are depends on where its data is.
            Form::Raw { granule: Some(_) } => return Ok(()),
            Form::Chunks(chunks) => (size / u64::from(chunks.granule()), CHUNKS),
            Form::Raw { granule: None } | Form::Compressed { .. } => {
                (self.block().blocks_for(size), self.allocator.limit())
            }
        };
        if parts <= most {
            return Ok(());
        }
        let path = self.geometry.input.path(piece.inode);
        let problem = "it has more blocks or chunks than a file in an image";
        Err(BuildError::FileTooLarge { path, problem })
    }

    fn enter_large(&mut self, piece: &Piece<'_>, mut large: Large<'_>) -> Result<(), BuildError> {
        let (inode, size) = (piece.inode, piece.range.end);
        let digest = mem::take(&mut large.digest).finish();
        self.tables.files.set_digest(inode, digest);
        let Large { start, ref extents, ref addresses, ref tail, rest, .. } = large;
        if !extents.is_empty() {
            let blocks = self.allocator.next() - start;
            let written = blocks * u64::from(self.block().size()) + tail.len() as u64;
            let before = size - rest.map_or(0, |rest| rest.len.into());
            // Others may refer to pclusters that have addresses.
            if addresses.is_some() || is_gain(self.geometry.plan, inode, before, written) {
                let addresses = addresses.as_deref();
                let known = self.algorithms_elsewhere(inode);
                let file = Pclusters { inode, size, start, extents, addresses, tail, known };
                self.enter_pclusters(&file, rest)?;
            } else {
                self.equal.forget(&large.pclusters, start);
                self.rewrite_raw(piece, &large)?;
            }
        } else if !large.runs.is_empty() {
            self.tables.set_runs(inode, &large.runs)?;
        } else if large.holes.has_holes() {
            // A file with holes has no inline tail.
            let mut last = large.tail;
            last.resize(last.len().next_multiple_of(self.block().size() as usize), 0);
            self.allocator.append(&last)?;
            self.enter_sparse(inode, size, start, &large.holes)?;
        } else {
            self.tables.set_flat(inode, start, tail)?;
        }
        Ok(large.content.check_unchanged()?)
    }

    /// The algorithms of a file's pclusters that other devices hold.
    fn algorithms_elsewhere(&self, inode: InodeIndex) -> AlgorithmSet {
        self.analysis.parts.get(&inode).map(|parts| parts.algorithms).unwrap_or_default()
    }

    /// Enters pclusters, unless a fragment follows them whose place is not known yet.
    fn enter_pclusters(
        &mut self,
        file: &Pclusters<'_>,
        rest: Option<Rest>,
    ) -> Result<(), BuildError> {
        let Some(Rest { len, digest, sketch }) = rest else {
            return self.tables.set_pclusters(file);
        };
        let Pclusters { inode, size, start, extents, addresses, known, .. } = *file;
        let len = u64::from(len);
        let fragment = Fragment { inode, start: size - len, len, digest };
        let (extents, addresses) = (extents.to_vec(), addresses.map(<[_]>::to_vec));
        self.tails.push(Tail { fragment, sketch, start, extents, addresses, known });
        Ok(())
    }

    /// Enters a file whose granules are holes or consecutive from block `start` on.
    fn enter_sparse(
        &mut self,
        inode: InodeIndex,
        size: u64,
        start: u64,
        holes: &Granules,
    ) -> Result<(), BuildError> {
        let granule = granule_for(size, self.block()) / self.block().size();
        self.tables.set_runs(inode, &Runs::of_holes(holes, granule.into(), start))
    }

    fn put_chunks(
        &mut self,
        chunks: &[HashedChunk],
        bytes: &mut &[u8],
        runs: &mut Runs,
    ) -> Result<(), BuildError> {
        self.chunks.put(chunks, bytes, runs, &mut self.allocator)
    }

    /// Stores a file's bytes uncompressed over its pclusters, which saved too little.
    fn rewrite_raw(&mut self, piece: &Piece<'_>, large: &Large<'_>) -> Result<(), BuildError> {
        let (inode, size) = (piece.inode, piece.range.end);
        if let Some(chunks) = self.geometry.plan.chunks(inode) {
            return self.rewrite_in_chunks((inode, size), large, chunks);
        }
        self.allocator.skip_to(large.start);
        let tail = piece.task.inline_tail;
        let end = size - u64::from(tail);
        let mut buf = Vec::new();
        let mut digest = DigestOfPieces::default();
        for (start, len) in steps(size, PIECE) {
            buf.resize(len, 0);
            large.content.read_at(&mut buf, start)?;
            digest.push(Digest::of_piece(&buf));
            let in_blocks = end.saturating_sub(start).min(len as u64);
            buf.truncate(usize::try_from(in_blocks).expect("a part of what is in memory"));
            buf.resize(buf.len().next_multiple_of(self.block().size() as usize), 0);
            self.allocator.append(&buf)?;
        }
        self.tables.files.set_digest(inode, digest.finish());
        let mut rest = vec![0; tail as usize];
        large.content.read_at(&mut rest, end)?;
        self.tables.set_flat(inode, large.start, &rest)
    }

    /// Stores a file's bytes in chunks over its pclusters.
    fn rewrite_in_chunks(
        &mut self,
        (inode, size): (InodeIndex, u64),
        large: &Large<'_>,
        chunks: Chunks,
    ) -> Result<(), BuildError> {
        self.allocator.free_from(large.start)?;
        let (mut buf, mut blocks) = (Vec::new(), Vec::new());
        let (mut digest, mut runs) = (DigestOfPieces::default(), Runs::default());
        for (position, len) in steps(size, PIECE.max(chunks.granule().into())) {
            buf.resize(len, 0);
            large.content.read_at(&mut buf, position)?;
            digest.extend(Digest::of_pieces(&buf));
            blocks.clear();
            let hashed = cut(&buf, chunks, self.block(), &mut blocks);
            self.put_chunks(&hashed, &mut &*blocks, &mut runs)?;
            self.chunks.flush(self.allocator.image())?;
        }
        self.tables.files.set_digest(inode, digest.finish());
        self.tables.set_runs(inode, &runs)
    }
}

/// The pclusters of a piece that are stored from block `next` on.
fn own_pclusters(
    piece: &Piece<'_>,
    outcome: &Outcome,
    mut next: u64,
) -> impl Iterator<Item = Placed> {
    let extents = match &outcome.stored {
        Stored::Pclusters(extents) => extents.as_slice(),
        _ => &[],
    };
    let mut shared = outcome.shared.iter().map(|(at, _)| *at).peekable();
    let mut position = piece.range.start;
    (0..).zip(extents).filter_map(move |(number, extent)| {
        let (at, first) = (position, next);
        position += u64::from(extent.llen);
        if shared.next_if_eq(&number).is_some() {
            return None;
        }
        next += u64::from(extent.blocks);
        Some(Placed { bytes: at..position, device: 0, blocks: first..next })
    })
}

/// Positions and lengths of parts of at most `step` bytes.
fn steps(size: u64, step: u64) -> impl Iterator<Item = (u64, usize)> {
    let len = move |start| usize::try_from(step.min(size - start)).expect("a step fits memory");
    let count = size.div_ceil(step);
    (0..count).map(move |number| (number * step, len(number * step)))
}
