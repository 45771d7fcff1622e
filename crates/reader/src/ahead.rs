//! What will be asked for next?
//!
//! A file that is read straight on, and files that are read in the order of their directory, are decoded before they are
//! asked for, by threads that run only while cores are idle. What they decode lies in the image's cache.

use std::{
    collections::{HashMap, VecDeque},
    num::NonZeroUsize,
    sync::{
        Arc, Condvar, Mutex,
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
const STREAMS: usize = 256;

/// Files of a directory that are decoded ahead, and the longest of them.
const FILES: usize = 8;
const FILE_BYTES: u64 = 256 << 10;

/// Names of listed files that are remembered, in all.
const LISTED: usize = 1 << 14;

/// Decodes ahead for the readers of one image. Ends its threads when dropped.
#[derive(Debug)]
pub struct ReadAhead {
    shared: Arc<Shared>,
    threads: Vec<thread::JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    image: Arc<Image>,
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

#[derive(Debug, Default)]
struct State {
    jobs: VecDeque<Job>,
    streams: HashMap<Nid, Stream>,
    /// The file behind a file in its directory.
    next: HashMap<Nid, Nid>,
    working: usize,
    ended: bool,
}

/// A stretch of a file to be decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Job {
    nid: Nid,
    position: u64,
    length: u64,
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
    /// Decodes ahead of those who read `image`.
    ///
    /// # Errors
    /// If there can be no more threads.
    pub fn new(image: Arc<Image>) -> std::io::Result<Self> {
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let most = MOST.min(image.limits().decoded_cache as u64 / 4);
        let shared = Arc::new(Shared {
            image,
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
                state.add(Job { nid: inode.nid, position: from, length: to - from });
                stream.ahead = to;
            }
        }
        stream.next = if goes_on { stream.next.max(end) } else { end };
        if end == inode.size {
            self.follow(&mut state, inode.nid, &mut stream);
        }
        if state.streams.len() >= STREAMS {
            state.streams.clear();
        }
        state.streams.insert(inode.nid, stream);
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

    /// A file was read to its end: if the one before was so too, those behind it are next.
    fn follow(&self, state: &mut State, nid: Nid, stream: &mut Stream) {
        let Some(next) = state.next.get(&nid).copied() else { return };
        let row = stream.row + 1;
        let known = state.streams.entry(next).or_default();
        known.row = known.row.max(row);
        if row < 2 {
            return;
        }
        let mut at = next;
        for _ in 0..FILES {
            let told = state.streams.entry(at).or_default();
            if told.ahead == 0 {
                told.ahead = 1;
                state.add(Job { nid: at, position: 0, length: FILE_BYTES.min(self.most) });
            }
            let Some(behind) = state.next.get(&at) else { break };
            at = *behind;
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
        let Ok(inode) = self.image.inode(job.nid) else { return };
        if inode.file_type == FileType::Regular
            && let Ok(file) = self.image.file(&inode)
        {
            let _ = file.prepare(job.position, job.length);
        }
    }
}

impl State {
    fn add(&mut self, job: Job) {
        if self.jobs.len() >= JOBS {
            self.jobs.pop_front();
        }
        self.jobs.push_back(job);
    }
}
