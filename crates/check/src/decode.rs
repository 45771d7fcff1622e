//! Does all data decode?
//!
//! Who walks the inodes feeds pieces of files; the other threads, and the walker itself when they are all busy,
//! read and decode them.

use std::{ops::Range, sync::atomic::Ordering};

use crossbeam_channel::{Receiver, Sender, TrySendError};
use lith_reader::{Error, File, Image, Inode};

use crate::{
    classify::Reading,
    findings::{Findings, Log, Phase},
    limits::BAD_EXTENTS,
    options::Progress,
};

/// Bytes of a file that are read at once, but for extents that are longer: they are not cut.
const PIECE: u64 = 1 << 20;

/// Pieces that are handed over at once.
const BATCH: usize = 64;

/// A part of a file that begins and ends with an extent, or is a part of one that isn't compressed.
#[derive(Clone, Debug)]
struct Piece {
    inode: Inode,
    range: Range<u64>,
    /// Its place among all pieces.
    number: u64,
}

impl Piece {
    const fn len(&self) -> u64 {
        self.range.end.saturating_sub(self.range.start)
    }
}

/// Pieces that are handed over at once.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pieces: Vec<Piece>,
    bytes: u64,
}

/// What all threads that decode share.
pub(crate) struct Decoding<'a> {
    image: &'a Image,
    findings: &'a Findings,
    progress: &'a Progress,
}

impl<'a> Decoding<'a> {
    pub(crate) const fn new(
        image: &'a Image,
        findings: &'a Findings,
        progress: &'a Progress,
    ) -> Self {
        Self { image, findings, progress }
    }
}

/// Findings of a piece have numbers of their own.
fn piece_log<'a>(findings: &'a Findings, piece: &Piece) -> Log<'a> {
    let first = piece.number.saturating_mul(u64::from(BAD_EXTENTS) * 2);
    Log::new(findings, Phase::Data, first)
}

/// One thread that decodes.
pub(crate) struct Decoder<'a> {
    shared: &'a Decoding<'a>,
    buffer: Vec<u8>,
    /// The file that was read last.
    file: Option<File<'a>>,
    /// Bytes that were read or decoded.
    pub(crate) bytes: u64,
}

impl<'a> Decoder<'a> {
    pub(crate) const fn new(shared: &'a Decoding<'a>) -> Self {
        Self { shared, buffer: Vec::new(), file: None, bytes: 0 }
    }

    /// Decodes what comes until nothing more can come.
    pub(crate) fn run(&mut self, batches: &Receiver<Batch>) {
        for batch in batches {
            self.decode(&batch);
        }
    }

    fn decode(&mut self, batch: &Batch) {
        for piece in &batch.pieces {
            self.decode_piece(piece);
        }
    }

    fn decode_piece(&mut self, piece: &Piece) {
        if let Err(error) = self.read(piece) {
            self.decode_extents(piece, &error);
        }
    }

    fn read(&mut self, piece: &Piece) -> Result<(), Error> {
        if self.file.as_ref().is_none_or(|file| file.inode().nid != piece.inode.nid) {
            self.file = Some(self.shared.image.file(&piece.inode)?);
        }
        let length = usize::try_from(piece.len()).unwrap_or(usize::MAX);
        if self.buffer.len() < length {
            self.buffer = vec![0; length];
        }
        let buffer = self.buffer.get_mut(..length).unwrap_or_default();
        if let Some(file) = &self.file {
            file.read_at(buffer, piece.range.start)?;
        }
        self.bytes = self.bytes.saturating_add(piece.len());
        self.shared.progress.bytes.fetch_add(piece.len(), Ordering::Relaxed);
        Ok(())
    }

    /// Finds out which extents of a piece don't decode.
    fn decode_extents(&mut self, piece: &Piece, error: &Error) {
        let log = piece_log(self.shared.findings, piece);
        let extents = match self.shared.image.file(&piece.inode) {
            Ok(file) => file.extents_from(piece.range.start),
            Err(_) => return log.error(Reading::DATA, error),
        };
        let (mut found, mut at) = (0, piece.range.start);
        for extent in extents {
            let Ok(extent) = extent else { break };
            let end = extent.end().min(piece.range.end);
            let part = Piece { range: at..end, ..piece.clone() };
            if let Err(error) = self.read(&part) {
                log.error(Reading::DATA, &error);
                found += 1;
            }
            at = end;
            if at >= piece.range.end || found >= BAD_EXTENTS {
                break;
            }
        }
        if found == 0 {
            log.error(Reading::DATA, error);
        }
    }
}

/// Where the one who walks the inodes puts what is to be decoded.
pub(crate) struct Feed<'a> {
    batches: Sender<Batch>,
    decoder: Decoder<'a>,
    batch: Batch,
    /// The piece that may still grow.
    open: Option<Piece>,
    pieces: u64,
    bytes: u64,
}

impl<'a> Feed<'a> {
    pub(crate) fn new(batches: Sender<Batch>, shared: &'a Decoding<'a>) -> Self {
        let decoder = Decoder::new(shared);
        Self { batches, decoder, batch: Batch::default(), open: None, pieces: 0, bytes: 0 }
    }

    /// Adds an extent of a file; `may_cut` says that parts of it can be read on their own.
    pub(crate) fn add(&mut self, inode: &Inode, range: Range<u64>, may_cut: bool) {
        let mut range = range;
        while may_cut && range.end.saturating_sub(range.start) > PIECE {
            let cut = range.start + PIECE;
            self.add_part(inode, range.start..cut);
            range.start = cut;
        }
        self.add_part(inode, range);
    }

    /// Bytes that were fed so far.
    pub(crate) const fn fed(&self) -> u64 {
        self.bytes
    }

    fn add_part(&mut self, inode: &Inode, range: Range<u64>) {
        self.bytes = self.bytes.saturating_add(range.end.saturating_sub(range.start));
        if let Some(open) = &mut self.open
            && open.inode.nid == inode.nid
            && open.range.end == range.start
            && open.len().saturating_add(range.end - range.start) <= PIECE
        {
            open.range.end = range.end;
            return;
        }
        self.close();
        let number = self.pieces;
        self.pieces += 1;
        self.open = Some(Piece { inode: *inode, range, number });
    }

    fn close(&mut self) {
        let Some(piece) = self.open.take() else { return };
        self.batch.bytes = self.batch.bytes.saturating_add(piece.len());
        self.batch.pieces.push(piece);
        if self.batch.bytes >= PIECE || self.batch.pieces.len() >= BATCH {
            self.send();
        }
    }

    fn send(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        match self.batches.try_send(batch) {
            Ok(()) => {}
            Err(TrySendError::Full(batch) | TrySendError::Disconnected(batch)) => {
                self.decoder.decode(&batch);
            }
        }
    }

    /// Hands over the rest, and helps until all is decoded. Returns how many bytes this thread did.
    pub(crate) fn finish(mut self, batches: &Receiver<Batch>) -> u64 {
        self.close();
        self.send();
        let Self { batches: sender, mut decoder, .. } = self;
        drop(sender);
        decoder.run(batches);
        decoder.bytes
    }
}
