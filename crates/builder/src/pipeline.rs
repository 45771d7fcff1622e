//! How do all files get read, compressed and written at once, and yet always to the same bytes?
//!
//! This is the only file that knows threads. Workers take numbered batches of pieces and finish them in any
//! order; one loop hands batches out, puts finished ones back into order and gives them to the
//! [`Placer`]. What is under way, waiting batches included, is bounded by the memory budget.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use crossbeam_channel::{Receiver, Sender, unbounded};
use lith_tree::{Content, InodeIndex, Kind};

use crate::{
    BuildError, PIECE,
    compress::{
        Blocks, Form, Look, Origin, Outcome, Piece, Sources, Worker, granule_for, is_mostly_hole,
    },
    data::DataWriter,
    place::inline_tail,
    plan::Plan,
};

/// The most pieces in a batch.
const BATCH_PIECES: usize = 256;
/// The most bytes in a batch of more than one piece.
const BATCH_BYTES: u64 = 1 << 20;

/// Pieces that one worker takes together.
struct Batch<'a> {
    number: u64,
    pieces: Vec<Piece<'a>>,
}

impl Batch<'_> {
    fn bytes(&self) -> u64 {
        content_bytes(&self.pieces)
    }
}

/// A batch whose blocks are ready.
struct Done<'a> {
    pieces: Vec<Piece<'a>>,
    outcomes: Vec<Outcome>,
    blocks: Blocks,
}

type Finished<'a> = (u64, Result<Done<'a>, BuildError>);

/// Which regular files are read, and what for.
#[derive(Clone, Copy)]
pub(crate) enum Pass<'o> {
    /// Only to know them, in that way.
    Look(Look, &'o [InodeIndex]),
    /// To store them, or what will not be a fragment.
    Store(&'o [InodeIndex]),
}

/// Reads and stores the content of files.
pub(crate) fn store_contents<'a>(
    sources: Sources<'a>,
    plan: &'a Plan,
    pass: Pass<'_>,
    data: &mut DataWriter<'a>,
) -> Result<(), BuildError> {
    let (to_workers, queue) = unbounded::<Batch<'_>>();
    let (results, finished) = unbounded();
    let room = Room::new(sources);
    let spare = &Spare::new(room.most_bytes / 2);
    thread::scope(move |scope| {
        for _ in 0..sources.context.workers.get() {
            let (queue, results) = (queue.clone(), results.clone());
            scope.spawn(move || work(sources, &queue, spare, &results));
        }
        drop((queue, results));
        let batches = Batches { sources, plan, pass, next: 0, number: 0, large: None };
        let crew = Crew { to_workers, finished, spare };
        run(batches, room, &crew, data)
    })
}

/// What may be under way at once, and what is.
struct Room {
    /// Batches: enough to keep all workers busy, even while the batch that comes next takes long.
    most_batches: usize,
    /// Bytes of content, each of which is held twice: as it is and as blocks.
    most_bytes: u64,
    batches: usize,
    bytes: u64,
}

impl Room {
    fn new(sources: Sources<'_>) -> Self {
        // What is compressed takes some batches much longer than others; what is only copied should be written while
        // it is in a core's cache.
        let batches_per_worker = if sources.codings.compress() { 32 } else { 3 };
        Self {
            most_batches: sources.context.workers.get().saturating_mul(batches_per_worker),
            most_bytes: sources.context.memory as u64 / 5 * 2,
            batches: 0,
            bytes: 0,
        }
    }

    /// Takes the room of a batch of `bytes`, if there is so much; for a single one there always is.
    const fn take(&mut self, bytes: u64) -> bool {
        let fits = self.batches < self.most_batches && self.bytes + bytes <= self.most_bytes;
        if fits || self.is_empty() {
            self.batches += 1;
            self.bytes += bytes;
            return true;
        }
        false
    }

    const fn give_back(&mut self, bytes: u64) {
        self.batches -= 1;
        self.bytes -= bytes;
    }

    /// Whether nothing is under way.
    const fn is_empty(&self) -> bool {
        self.batches == 0
    }
}

/// How the workers are talked to. When it is dropped their queue ends, and so do they.
struct Crew<'s, 'a> {
    to_workers: Sender<Batch<'a>>,
    finished: Receiver<Finished<'a>>,
    spare: &'s Spare,
}

/// Ends the build when a worker panics in the middle of a batch, which nobody would else finish.
struct Alarm<'r, 'a> {
    number: u64,
    results: &'r Sender<Finished<'a>>,
}

impl Drop for Alarm<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            // If nobody listens, the build has ended already.
            let _sent = self.results.send((self.number, Err(BuildError::WorkerPanicked)));
        }
    }
}

fn work<'a>(
    sources: Sources<'a>,
    queue: &Receiver<Batch<'a>>,
    spare: &Spare,
    results: &Sender<Finished<'a>>,
) {
    let mut worker = Worker::new(sources);
    for Batch { number, pieces } in queue {
        let alarm = Alarm { number, results };
        let mut blocks = spare.take();
        let outcomes: Result<Vec<_>, _> =
            pieces.iter().map(|piece| worker.store(piece, &mut blocks)).collect();
        let done = outcomes.map(|outcomes| Done { pieces, outcomes, blocks });
        let sent = results.send((number, done));
        drop(alarm);
        if sent.is_err() {
            return;
        }
    }
}

fn run<'a>(
    mut batches: Batches<'a, '_>,
    mut room: Room,
    crew: &Crew<'_, 'a>,
    data: &mut DataWriter<'a>,
) -> Result<(), BuildError> {
    let mut waiting = BTreeMap::new();
    let mut next = 0;
    let mut ready = batches.next()?;
    let observer = data.sources.context.observer;
    loop {
        if observer.is_cancelled() {
            return Err(BuildError::Cancelled);
        }
        while let Some(batch) = ready.take_if(|batch| room.take(batch.bytes())) {
            // Workers only leave when the queue is dropped, so there is always somebody to take it.
            let _sent = crew.to_workers.send(batch);
            ready = batches.next()?;
        }
        if room.is_empty() {
            return Ok(());
        }
        let Ok((number, done)) = crew.finished.recv() else { return Ok(()) };
        waiting.insert(number, done);
        while let Some(done) = waiting.remove(&next) {
            let done = done?;
            let bytes = content_bytes(&done.pieces);
            // Fragments count when they are stored.
            let is_later = done.pieces.iter().any(|piece| matches!(piece.form, Form::Later(_)));
            data.write(&done.pieces, done.outcomes, &done.blocks)?;
            crew.spare.keep(done.blocks);
            room.give_back(bytes);
            if !is_later {
                observer.advance(bytes);
            }
            next += 1;
        }
    }
}

fn content_bytes(pieces: &[Piece<'_>]) -> u64 {
    pieces.iter().map(|piece| piece.range.end - piece.range.start).sum()
}

/// Memory of batches that are done, for others to come.
struct Spare {
    kept: Mutex<Vec<Blocks>>,
    /// The most bytes that are kept.
    most: u64,
}

impl Spare {
    fn new(most: u64) -> Self {
        Self { kept: Mutex::default(), most }
    }

    /// What was used last, since most of it is still in a cache.
    fn take(&self) -> Blocks {
        self.lock().pop().unwrap_or_default()
    }

    fn keep(&self, mut blocks: Blocks) {
        blocks.clear();
        let mut kept = self.lock();
        let bytes: usize = kept.iter().chain([&blocks]).map(Blocks::capacity).sum();
        if bytes as u64 <= self.most {
            kept.push(blocks);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Blocks>> {
        // Whoever panicked left no half change behind.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file of more than one piece that is being cut up.
struct Large<'a> {
    inode: InodeIndex,
    content: Arc<dyn Content + 'a>,
    form: Form,
    size: u64,
    position: u64,
    /// The most bytes of a piece.
    piece: u64,
    /// What is left at the end may become a fragment.
    may_leave_rest: bool,
}

/// Cuts the content of all files into batches, in the order of the plan.
struct Batches<'a, 'o> {
    sources: Sources<'a>,
    plan: &'a Plan,
    pass: Pass<'o>,
    next: usize,
    number: u64,
    large: Option<Large<'a>>,
}

impl<'a> Batches<'a, '_> {
    /// The next batch; nothing at the end.
    fn next(&mut self) -> Result<Option<Batch<'a>>, BuildError> {
        let mut pieces = match self.next_of_large() {
            Some(piece) => vec![piece],
            None => self.next_small(),
        };
        if pieces.is_empty() {
            let Some(large) = self.open_large()? else {
                return Ok(None);
            };
            self.large = Some(large);
            pieces.extend(self.next_of_large());
        }
        let number = self.number;
        self.number += 1;
        Ok(Some(Batch { number, pieces }))
    }

    fn next_of_large(&mut self) -> Option<Piece<'a>> {
        let large = self.large.as_mut()?;
        let range = large.position..large.size.min(large.position + large.piece);
        large.position = range.end;
        let last = range.end == large.size;
        let piece = Piece {
            inode: large.inode,
            origin: Origin::Part(Arc::clone(&large.content)),
            range,
            form: large.form,
            inline_tail: inline_tail(self.sources, self.plan, large.inode, large.size),
            last,
            may_leave_rest: last && large.may_leave_rest,
        };
        if last {
            self.large = None;
        }
        Some(piece)
    }

    /// Files of one piece, up to a batch full or to the next larger file.
    fn next_small(&mut self) -> Vec<Piece<'a>> {
        let mut pieces = Vec::new();
        let mut bytes = 0;
        while pieces.len() < BATCH_PIECES
            && let Some(inode) = self.order().get(self.next)
        {
            if let Kind::Regular { size: size @ 1.. } = self.sources.node(*inode).kind {
                let piece = self.whole(*inode, size);
                let is_last = bytes > 0 && bytes + size > BATCH_BYTES;
                if is_last || size > self.piece_size(piece.form) {
                    break;
                }
                pieces.push(piece);
                bytes += size;
            }
            self.next += 1;
        }
        pieces
    }

    fn whole(&self, inode: InodeIndex, size: u64) -> Piece<'a> {
        Piece {
            inode,
            origin: Origin::Whole,
            range: 0..size,
            form: self.form(inode, size),
            inline_tail: inline_tail(self.sources, self.plan, inode, size),
            last: true,
            may_leave_rest: self.may_leave_rest(inode),
        }
    }

    const fn order(&self) -> &[InodeIndex] {
        match self.pass {
            Pass::Look(_, order) | Pass::Store(order) => order,
        }
    }

    fn form(&self, inode: InodeIndex, size: u64) -> Form {
        let options = self.sources.options;
        if let Pass::Look(look, _) = self.pass {
            Form::Later(look)
        } else if size <= self.sources.longest_fragment(inode) {
            Form::Later(Look::Sketch)
        } else if self.sources.coding(inode).is_some()
            && size > u64::from(options.layout.block.size())
        {
            Form::Compressed
        } else {
            self.raw(inode, size)
        }
    }

    /// Whether the end of a file may become a fragment.
    fn may_leave_rest(&self, inode: InodeIndex) -> bool {
        self.sources.longest_fragment(inode) > 0
    }

    /// The most bytes of a piece, in whole [`PIECE`]s and granules.
    fn piece_size(&self, form: Form) -> u64 {
        match form {
            Form::Compressed => self.plan.segment,
            Form::Raw { granule } => PIECE.max(granule.unwrap_or(0).into()),
            Form::Chunks(chunks) => PIECE.max(chunks.granule().into()),
            Form::Later(_) => PIECE,
        }
    }

    fn raw(&self, inode: InodeIndex, size: u64) -> Form {
        if let Some(chunks) = self.sources.chunks(inode) {
            return Form::Chunks(chunks);
        }
        let options = self.sources.options;
        Form::Raw { granule: options.has_holes().then(|| granule_for(size, options.layout.block)) }
    }

    fn open_large(&mut self) -> Result<Option<Large<'a>>, BuildError> {
        let Some(inode) = self.order().get(self.next).copied() else {
            return Ok(None);
        };
        let options = self.sources.options;
        let Kind::Regular { size } = self.sources.node(inode).kind else {
            return Ok(None);
        };
        self.next += 1;
        let content: Arc<dyn Content + 'a> = Arc::from(self.sources.open(inode)?);
        let sparse =
            || options.has_holes().then(|| is_mostly_hole(&*content, size, options.layout.block));
        let form = match self.sources.coding(inode) {
            _ if matches!(self.pass, Pass::Look(..)) => self.form(inode, size),
            Some(_) if !sparse().transpose()?.unwrap_or(false) => self.form(inode, size),
            _ => self.raw(inode, size),
        };
        if let (Form::Raw { .. } | Form::Chunks(_), Some(repeats)) =
            (form, self.sources.repeats(inode))
        {
            repeats.withdraw(inode);
        }
        let piece = self.piece_size(form);
        let may_leave_rest = self.may_leave_rest(inode);
        Ok(Some(Large { inode, content, form, size, position: 0, piece, may_leave_rest }))
    }
}
