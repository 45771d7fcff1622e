//! Reads and decodes all data, in several threads.
//!
//! The thread that walks the inodes feeds ranges of files; the other threads, and the walking one while they are all
//! busy, read and decode them.

use std::ops::Range;

use crossbeam_channel::{Receiver, Sender, TrySendError};
use lith_reader::{Error, File, Image, Inode};

use crate::{
    classify::Reading,
    findings::{Findings, Log, Phase},
    limits::BAD_PARTS,
    watch::Watch,
};

/// Bytes of a task, except for longer extents, which are not cut.
const TASK: u64 = 1 << 20;

/// Tasks that are sent at once, at most.
const BATCH: usize = 64;

/// A range of a file to be decoded. It starts and ends with an extent, or within an uncompressed one.
#[derive(Clone, Debug)]
struct Task {
    inode: Inode,
    range: Range<u64>,
    /// Its position among all tasks.
    number: u64,
}

impl Task {
    const fn len(&self) -> u64 {
        self.range.end.saturating_sub(self.range.start)
    }
}

/// Tasks that are sent at once.
#[derive(Debug, Default)]
pub(crate) struct Batch(Vec<Task>);

/// What all decoding threads share.
#[derive(Clone, Copy)]
pub(crate) struct Decoding<'a> {
    pub(crate) image: &'a Image,
    pub(crate) findings: &'a Findings,
    pub(crate) watch: &'a Watch<'a>,
}

pub(crate) struct Decoder<'a> {
    shared: Decoding<'a>,
    buffer: Vec<u8>,
    /// The file that was read last.
    file: Option<File<'a>>,
    /// Bytes that were read or decoded.
    bytes: u64,
}

impl<'a> Decoder<'a> {
    pub(crate) const fn new(shared: Decoding<'a>) -> Self {
        Self { shared, buffer: Vec::new(), file: None, bytes: 0 }
    }

    /// Decodes all batches until there can't be more. Returns the bytes that were read or decoded.
    pub(crate) fn run(mut self, batches: &Receiver<Batch>) -> u64 {
        for batch in batches {
            self.decode(&batch);
        }
        self.bytes
    }

    fn decode(&mut self, batch: &Batch) {
        for task in &batch.0 {
            if self.shared.watch.is_cancelled() {
                return;
            }
            if let Err(error) = self.read(task) {
                self.decode_extents(task, &error);
            }
        }
    }

    fn read(&mut self, task: &Task) -> Result<(), Error> {
        let file = match self.file.take() {
            Some(file) if file.inode().nid == task.inode.nid => file,
            _ => self.shared.image.file(&task.inode)?,
        };
        let file = self.file.insert(file);
        let length = usize::try_from(task.len()).expect("a task has at most 12 MiB, as extents do");
        if self.buffer.len() < length {
            self.buffer = vec![0; length];
        }
        let (buffer, _) = self.buffer.split_at_mut(length);
        file.read_at(buffer, task.range.start)?;
        self.bytes = self.bytes.saturating_add(task.len());
        self.shared.watch.observer.advance(task.len());
        Ok(())
    }

    fn decode_extents(&mut self, task: &Task, error: &Error) {
        // Findings of a task have numbers of their own, whichever thread decodes it.
        let first = task.number.saturating_mul(u64::from(BAD_PARTS) * 2);
        let log = Log::new(self.shared.findings, Phase::Data, first);
        let extents = match self.shared.image.file(&task.inode) {
            Ok(file) => file.extents_from(task.range.start),
            Err(_) => return log.error(Reading::DATA, error),
        };
        let (mut found, mut at) = (0, task.range.start);
        for extent in extents {
            let Ok(extent) = extent else { break };
            let end = extent.end().min(task.range.end);
            let part = Task { range: at..end, ..task.clone() };
            if let Err(error) = self.read(&part) {
                log.error(Reading::DATA, &error);
                found += 1;
            }
            at = end;
            if at >= task.range.end || found >= BAD_PARTS {
                break;
            }
        }
        if found == 0 {
            log.error(Reading::DATA, error);
        }
    }
}

/// Collects what is to be decoded, and sends it to the decoding threads.
pub(crate) struct Feed<'a> {
    batches: Sender<Batch>,
    decoder: Decoder<'a>,
    batch: Batch,
    /// The task that may still grow.
    open: Option<Task>,
    tasks: u64,
    bytes: u64,
}

impl<'a> Feed<'a> {
    pub(crate) fn new(batches: Sender<Batch>, shared: Decoding<'a>) -> Self {
        let decoder = Decoder::new(shared);
        Self { batches, decoder, batch: Batch::default(), open: None, tasks: 0, bytes: 0 }
    }

    /// Adds an extent of a file; `may_cut`: parts of it can be read on their own.
    pub(crate) fn add(&mut self, inode: &Inode, range: Range<u64>, may_cut: bool) {
        let mut range = range;
        while may_cut && range.end.saturating_sub(range.start) > TASK {
            let cut = range.start + TASK;
            self.add_part(inode, range.start..cut);
            range.start = cut;
        }
        self.add_part(inode, range);
    }

    /// Bytes added so far.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    fn add_part(&mut self, inode: &Inode, range: Range<u64>) {
        self.bytes = self.bytes.saturating_add(range.end.saturating_sub(range.start));
        if let Some(open) = &mut self.open
            && open.inode.nid == inode.nid
            && open.range.end == range.start
            && open.len().saturating_add(range.end - range.start) <= TASK
        {
            open.range.end = range.end;
            return;
        }
        self.close();
        let number = self.tasks;
        self.tasks += 1;
        self.open = Some(Task { inode: *inode, range, number });
    }

    fn close(&mut self) {
        let Some(task) = self.open.take() else { return };
        self.batch.0.push(task);
        let bytes = self.batch.0.iter().map(Task::len).fold(0, u64::saturating_add);
        if bytes >= TASK || self.batch.0.len() >= BATCH {
            self.send();
        }
    }

    /// Sends the batch, or decodes it here if all threads are busy.
    fn send(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        match self.batches.try_send(batch) {
            Ok(()) => {}
            Err(TrySendError::Full(batch) | TrySendError::Disconnected(batch)) => {
                self.decoder.decode(&batch);
            }
        }
    }

    /// Sends the rest, and decodes until all is done. Returns the bytes that this thread decoded.
    pub(crate) fn finish(mut self, batches: &Receiver<Batch>) -> u64 {
        self.close();
        self.send();
        let Self { batches: sender, decoder, .. } = self;
        drop(sender);
        decoder.run(batches)
    }
}
