//! What will be asked for next?
//!
//! A file that is read straight on, and files that are read in the order of their directory, are decoded before they are
//! asked for, by threads that run only while cores are idle. What they decode lies in the image's cache.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    num::NonZeroUsize,
    sync::{
        Arc, Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use lith_format::{addr::Nid, file_type::FileType};

use crate::{cache::lock, image::Image, inode::Inode};

/// What is decoded ahead first, and at most. A quarter of the cache is never exceeded.
const FIRST: u64 = 256 << 10;
const MOST: u64 = 4 << 20;

/// Reads of so many bytes and more are the kernel's own reading ahead, which can come out of order.
const NEAR: u64 = 32 << 10;

/// Jobs that wait at most: older ones are out of date.
const JOBS: usize = 64;

/// Files whose last read is remembered.
const STREAMS: usize = 4096;

/// Files of a directory that are decoded ahead at once, and how much of them in all.
const FILES: usize = 16;
const FILES_BYTES: u64 = 1 << 20;

/// Files that must have been read in order before that.
const ROW: usize = 2;

/// Directories that are expected to be read for each file that was, and at most.
const CREDIT: usize = 4;
const MOST_CREDIT: usize = 16;

/// Of so many files one is left to be asked for.
const ASKED: usize = 4;

/// Names of listed files that are remembered, in all.
const LISTED: usize = 1 << 14;

/// Takes the beginning of a regular file that is likely to be read next.
pub type Deliver = Box<dyn Fn(&Inode, &[u8]) + Send + Sync>;

/// Decodes ahead for the readers of one image. Ends its threads when dropped.
#[derive(Debug)]
pub struct ReadAhead {
    shared: Arc<Shared>,
    threads: Vec<thread::JoinHandle<()>>,
}

struct Shared {
    image: Arc<Image>,
    deliver: Option<Deliver>,
    cores: usize,
    /// The most that is decoded ahead of a reader.
    most: u64,
    /// Readers that are being served.
    busy: AtomicUsize,
    /// Jobs that wait.
    waiting: AtomicUsize,
    /// Somebody else reads ahead in a file that is read straight on.
    only_files: AtomicBool,
    state: Mutex<State>,
    wake: Condvar,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("state", &self.state).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct State {
    jobs: VecDeque<Job>,
    streams: HashMap<Nid, Stream>,
    /// The file behind a file in its directory.
    next: HashMap<Nid, Nid>,
    /// How far files are expected to be read once their directory is listed: more with each read that was expected,
    /// less with each directory.
    credit: usize,
    working: usize,
    ended: bool,
}

/// What is to be decoded.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Job {
    /// A stretch of a file.
    Stretch { nid: Nid, position: u64, length: u64 },
    /// Files from their beginning on.
    Files(Vec<Nid>),
}

/// How a file is being read.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    /// Where a reader would go on.
    next: u64,
    /// Where what is decoded ahead ends.
    ahead: u64,
    /// How much is decoded ahead.
    window: u64,
    /// Files in order that were read up to this one.
    row: usize,
}

/// A read that is under way: as long as it lives, its core is not idle.
#[derive(Debug)]
pub struct Busy<'a>(&'a Shared);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
        self.0.wake_if_idle();
    }
}

impl ReadAhead {
    /// Decodes ahead of those who read `image`. Files that are likely to be next go to `deliver` if there is one, and
    /// into the cache otherwise.
    ///
    /// # Errors
    /// If there can be no more threads.
    pub fn new(image: Arc<Image>, deliver: Option<Deliver>) -> std::io::Result<Self> {
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let most = MOST.min(image.limits().decoded_cache as u64 / 4);
        let shared = Arc::new(Shared {
            image,
            deliver,
            cores,
            most,
            busy: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            only_files: AtomicBool::new(false),
            state: Mutex::default(),
            wake: Condvar::new(),
        });
        let mut made = Self { shared, threads: Vec::new() };
        // A reader needs a core too.
        for number in 0..cores.saturating_sub(1) {
            let shared = Arc::clone(&made.shared);
            let builder = thread::Builder::new().name(format!("ahead-{number}"));
            made.threads.push(builder.spawn(move || shared.work())?);
        }
        Ok(made)
    }

    /// From now on only looks for files in the order of their directory: who reads ahead within a file already, in reads
    /// that are under way at once, keeps the cores busy by that.
    pub fn only_files(&self) {
        self.shared.only_files.store(true, Ordering::Relaxed);
    }

    /// Tells that a read of a regular file begins, `length` bytes from `position` on.
    #[must_use = "the read is under way as long as this lives"]
    pub fn read(&self, inode: &Inode, position: u64, length: u64) -> Busy<'_> {
        self.shared.busy.fetch_add(1, Ordering::Relaxed);
        if !self.threads.is_empty() && self.shared.most > 0 {
            self.shared.note(inode, position, length);
        }
        Busy(&self.shared)
    }

    /// Tells that a directory is listed: these are regular files in it, in its order.
    pub fn listed(&self, files: &[Nid]) {
        let mut state = lock(&self.shared.state);
        if state.next.len() + files.len() > LISTED {
            state.next.clear();
        }
        let pairs = files.windows(2).filter_map(|pair| Some((*pair.first()?, *pair.last()?)));
        state.next.extend(pairs.take(LISTED));
        if state.credit > 0 && !files.is_empty() {
            state.credit -= 1;
            state.expect(files.iter().copied().take(FILES));
        }
        self.shared.wake(state);
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        lock(&self.shared.state).ended = true;
        self.shared.wake.notify_all();
        for thread in self.threads.drain(..) {
            // A thread that panicked decodes nothing any more; its readers do.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn note(&self, inode: &Inode, position: u64, length: u64) {
        let mut state = lock(&self.state);
        let end = position.saturating_add(length).min(inode.size);
        let stream = state.streams.get(&inode.nid).copied().unwrap_or_default();
        let near = if length >= NEAR { 2 * length } else { 0 };
        let goes_on = position > 0 && position.abs_diff(stream.next) <= near;
        let mut stream =
            if goes_on { stream } else { Stream { row: stream.row, ..Stream::default() } };
        if goes_on && !self.only_files.load(Ordering::Relaxed) {
            stream.window = (stream.window * 2).clamp(FIRST, MOST).min(self.most);
            let from = stream.ahead.max(end);
            let to = end.saturating_add(stream.window).min(inode.size);
            // Not for every few bytes: half a window at once.
            if to.saturating_sub(from) >= stream.window / 2 || (to == inode.size && from < to) {
                state.add(Job::Stretch { nid: inode.nid, position: from, length: to - from });
                stream.ahead = to;
            }
        }
        stream.next = if goes_on { stream.next.max(end) } else { end };
        if end == inode.size {
            state.follow(inode.nid, stream.row + 1);
        }
        if state.streams.len() >= STREAMS {
            state.streams.clear();
        }
        state.streams.insert(inode.nid, stream);
        self.wake(state);
    }

    /// Lets a thread see to the jobs that there are now.
    fn wake(&self, state: MutexGuard<'_, State>) {
        self.waiting.store(state.jobs.len(), Ordering::Relaxed);
        drop(state);
        self.wake_if_idle();
    }

    /// A wake-up may get lost when a thread is about to sleep; the next read makes up for it.
    fn wake_if_idle(&self) {
        let idle = self.busy.load(Ordering::Relaxed) < self.cores;
        if idle && self.waiting.load(Ordering::Relaxed) > 0 {
            self.wake.notify_one();
        }
    }

    fn work(&self) {
        while let Some(job) = self.take() {
            self.decode(job);
            lock(&self.state).working -= 1;
        }
    }

    /// The next job, as soon as there is one and a core for it; none at the end.
    fn take(&self) -> Option<Job> {
        let mut state = lock(&self.state);
        loop {
            if state.ended {
                return None;
            }
            if self.busy.load(Ordering::Relaxed) + state.working < self.cores
                && let Some(job) = state.jobs.pop_front()
            {
                state.working += 1;
                self.waiting.store(state.jobs.len(), Ordering::Relaxed);
                return Some(job);
            }
            state = match self.wake.wait(state) {
                Ok(state) => state,
                Err(poisoned) => poisoned.into_inner(),
            };
        }
    }

    /// What fails now fails for the reader too, who is told.
    fn decode(&self, job: Job) {
        match job {
            Job::Stretch { nid, position, length } => {
                let inode = self.image.inode(nid);
                let file = inode.as_ref().map(|inode| self.image.file(inode));
                if let Ok(Ok(file)) = file {
                    let _ = file.prepare(position, length);
                }
            }
            Job::Files(nids) => {
                let (mut left, mut buffer) = (FILES_BYTES.min(self.most), Vec::new());
                // One in the middle is still to be asked for, which tells how far the reader is.
                let asked = nids.get(nids.len() / 2).copied().filter(|_| nids.len() >= ASKED);
                for nid in nids {
                    let deliver = self.deliver.as_ref().filter(|_| Some(nid) != asked);
                    left = left.saturating_sub(self.decode_file(nid, left, deliver, &mut buffer));
                }
            }
        }
    }

    /// Decodes at most `most` bytes of a file; returns how many it were.
    fn decode_file(
        &self,
        nid: Nid,
        most: u64,
        deliver: Option<&Deliver>,
        buffer: &mut Vec<u8>,
    ) -> u64 {
        // The reader may have come before.
        if lock(&self.state).streams.get(&nid).is_some_and(|stream| stream.next > 0) {
            return 0;
        }
        let Ok(inode) = self.image.inode(nid) else { return 0 };
        let length = inode.size.min(most);
        let file = match self.image.file(&inode) {
            Ok(file) if inode.file_type == FileType::Regular && length > 0 => file,
            _ => return 0,
        };
        match deliver {
            None => drop(file.prepare(0, length)),
            Some(deliver) => {
                buffer.resize(usize::try_from(length).unwrap_or(0), 0);
                if file.read_at(buffer, 0).is_ok() {
                    deliver(&inode, buffer);
                }
            }
        }
        length
    }
}

impl State {
    fn add(&mut self, job: Job) {
        if self.jobs.len() >= JOBS {
            self.jobs.pop_front();
        }
        self.jobs.push_back(job);
    }

    /// A file was read to its end, the last of `row` in order: those behind it are next.
    fn follow(&mut self, nid: Nid, row: usize) {
        let mut files = Vec::new();
        let mut at = nid;
        for _ in 0..2 * FILES {
            let Some(next) = self.next.get(&at).copied() else { break };
            let stream = self.streams.entry(next).or_default();
            // Who reads the one behind them goes on in the same row.
            stream.row = stream.row.max(row);
            if row < ROW {
                break;
            }
            files.push(next);
            at = next;
        }
        if row >= ROW {
            self.credit = (self.credit + CREDIT).min(MOST_CREDIT);
        }
        self.expect(files.into_iter());
    }

    /// Files are likely to be read next: those that were not expected before are decoded.
    fn expect(&mut self, files: impl Iterator<Item = Nid>) {
        let mut new = Vec::new();
        for nid in files {
            let stream = self.streams.entry(nid).or_default();
            stream.row = stream.row.max(ROW);
            if stream.ahead == 0 {
                stream.ahead = 1;
                new.push(nid);
            }
        }
        if !new.is_empty() {
            self.add(Job::Files(new));
        }
    }
}
