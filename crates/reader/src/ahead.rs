//! Decodes extents before they are requested.
//!
//! A file that is read sequentially, and files that are read in the order of their directory, are decoded ahead by threads
//! that run only while cores are idle. The results go to the image's cache.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    num::NonZeroUsize,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use lith_format::{addr::Nid, file_type::FileType};

use crate::{image::Image, inode::Inode, lock::lock};

/// Bytes decoded ahead of a reader at first, and at most. A quarter of the cache is never exceeded.
const FIRST: u64 = 256 << 10;
const MOST: u64 = 4 << 20;

/// Reads of so many bytes and more are part of the kernel's own read-ahead, whose requests can be out of order.
const NEAR: u64 = 32 << 10;

/// Jobs that wait at most: older ones are out of date.
const JOBS: usize = 64;

/// Files whose last read is remembered.
const PROGRESSES: usize = 4096;

/// Files of a directory that are decoded ahead at once.
const FILES: usize = 16;

/// Bytes of these files in all.
const FILES_BYTES: u64 = 1 << 20;

/// Files that must have been read in order before the next ones are decoded ahead.
const IN_ORDER: usize = 2;

/// Directories that are expected to be read for each file that was expected and read.
const CREDIT: usize = 4;

/// Directories that are expected to be read at most.
const MOST_CREDIT: usize = 16;

/// The smallest batch of files that leaves one file undelivered, as a probe: its request shows how far the reader is.
const PROBED_BATCH: usize = 4;

/// Names of listed files that are remembered in all.
const LISTED: usize = 1 << 14;

/// Receives the beginning of a regular file that is likely to be read next.
pub type Deliver = Box<dyn Fn(&Inode, &[u8]) + Send + Sync>;

/// Decodes ahead of the readers of one image. Dropping it ends its threads.
#[derive(Debug)]
pub struct ReadAhead {
    scheduler: Arc<Scheduler>,
    threads: Vec<thread::JoinHandle<()>>,
}

/// What the threads and the readers share.
struct Scheduler {
    image: Arc<Image>,
    deliver: Option<Deliver>,
    cores: usize,
    /// The most that is decoded ahead of a reader.
    most: u64,
    /// Reads under way.
    busy: AtomicUsize,
    /// Jobs that wait.
    waiting: AtomicUsize,
    /// The kernel reads ahead in files that are read sequentially.
    only_files: AtomicBool,
    state: Mutex<State>,
    wake: Condvar,
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler").field("state", &self.state).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct State {
    jobs: VecDeque<Job>,
    progress: HashMap<Nid, Progress>,
    /// The file after a file in its directory.
    next: HashMap<Nid, Nid>,
    /// Directories whose files are decoded ahead once they are listed: grows with each expected read, and shrinks with
    /// each directory.
    credit: usize,
    working: usize,
    ended: bool,
}

/// Something to decode.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Job {
    /// A range of a file.
    Range { nid: Nid, position: u64, length: u64 },
    /// Files from their start on.
    Files(Vec<Nid>),
}

/// How far a file was read.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// Where a reader would continue.
    next: u64,
    /// Where what is decoded ahead ends.
    ahead: u64,
    /// Bytes decoded ahead.
    window: u64,
    /// Files that were read in order up to this one.
    in_order: usize,
}

/// A read under way: as long as it lives, its core is not idle.
#[derive(Debug)]
pub struct Busy<'a>(&'a Scheduler);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
        self.0.wake_if_idle();
    }
}

impl ReadAhead {
    /// Decodes ahead of the readers of `image`. The beginnings of files that are likely to be next go to `deliver` if there
    /// is one, and to the cache otherwise.
    #[must_use]
    pub fn new(image: Arc<Image>, deliver: Option<Deliver>) -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let most = MOST.min(image.limits().decoded_cache as u64 / 4);
        let scheduler = Arc::new(Scheduler {
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
        let mut made = Self { scheduler, threads: Vec::new() };
        // A reader needs a core too.
        for number in 0..cores.saturating_sub(1) {
            let scheduler = Arc::clone(&made.scheduler);
            let builder = thread::Builder::new().name(format!("ahead-{number}"));
            // The system may start no more threads; then fewer decode ahead, or none.
            let Ok(thread) = builder.spawn(move || scheduler.work()) else { break };
            made.threads.push(thread);
        }
        made
    }

    /// From now on only decodes the next files of a directory: for readers that read ahead within a file already, with
    /// several reads at once, which keeps the cores busy.
    pub fn only_files(&self) {
        self.scheduler.only_files.store(true, Ordering::Relaxed);
    }

    /// Notes that a read of a regular file begins, `length` bytes from `position` on.
    #[must_use = "the read is under way as long as this lives"]
    pub fn begin_read(&self, inode: &Inode, position: u64, length: u64) -> Busy<'_> {
        self.scheduler.busy.fetch_add(1, Ordering::Relaxed);
        if !self.threads.is_empty() && self.scheduler.most > 0 {
            self.scheduler.note(inode, position, length);
        }
        Busy(&self.scheduler)
    }

    /// Notes that a directory was listed, with these regular files in its order.
    pub fn listed(&self, files: &[Nid]) {
        let mut state = lock(&self.scheduler.state);
        if state.next.len() + files.len() > LISTED {
            state.next.clear();
        }
        let pairs = files.windows(2).filter_map(|pair| Some((*pair.first()?, *pair.last()?)));
        state.next.extend(pairs.take(LISTED));
        if state.credit > 0 && !files.is_empty() {
            state.credit -= 1;
            state.expect(files.iter().copied().take(FILES));
        }
        self.scheduler.wake(state);
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        lock(&self.scheduler.state).ended = true;
        self.scheduler.wake.notify_all();
        for thread in self.threads.drain(..) {
            // Readers decode for themselves what a thread that panicked did not.
            let _ = thread.join();
        }
    }
}

impl Scheduler {
    fn note(&self, inode: &Inode, position: u64, length: u64) {
        let mut state = lock(&self.state);
        let end = position.saturating_add(length).min(inode.size);
        let progress = state.progress.get(&inode.nid).copied().unwrap_or_default();
        let near = if length >= NEAR { 2 * length } else { 0 };
        let continues = position > 0 && position.abs_diff(progress.next) <= near;
        let fresh = Progress { in_order: progress.in_order, ..Progress::default() };
        let mut progress = if continues { progress } else { fresh };
        if continues && !self.only_files.load(Ordering::Relaxed) {
            progress.window = (progress.window * 2).clamp(FIRST, MOST).min(self.most);
            let from = progress.ahead.max(end);
            let to = end.saturating_add(progress.window).min(inode.size);
            // Half a window at once, so that small reads don't make a job each.
            if to.saturating_sub(from) >= progress.window / 2 || (to == inode.size && from < to) {
                state.add(Job::Range { nid: inode.nid, position: from, length: to - from });
                progress.ahead = to;
            }
        }
        progress.next = if continues { progress.next.max(end) } else { end };
        if end == inode.size {
            state.follow(inode.nid, progress.in_order + 1);
        }
        if state.progress.len() >= PROGRESSES {
            state.progress.clear();
        }
        state.progress.insert(inode.nid, progress);
        self.wake(state);
    }

    /// Wakes a thread for the jobs that there are now.
    fn wake(&self, state: MutexGuard<'_, State>) {
        self.waiting.store(state.jobs.len(), Ordering::Relaxed);
        drop(state);
        self.wake_if_idle();
    }

    /// A wake-up may get lost when a thread is about to sleep; the next read repeats it.
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

    /// The next job, as soon as there is one and a core for it. `None`: this is the end.
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
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Errors are ignored: the reader gets them when it reads.
    fn decode(&self, job: Job) {
        match job {
            Job::Range { nid, position, length } => {
                let inode = self.image.inode(nid);
                let file = inode.as_ref().map(|inode| self.image.file(inode));
                if let Ok(Ok(file)) = file {
                    let _ = file.prepare(position, length);
                }
            }
            Job::Files(nids) => {
                let (mut left, mut buffer) = (FILES_BYTES.min(self.most), Vec::new());
                let probe =
                    nids.get(nids.len() / 2).copied().filter(|_| nids.len() >= PROBED_BATCH);
                for nid in nids {
                    let deliver = self.deliver.as_ref().filter(|_| Some(nid) != probe);
                    left = left.saturating_sub(self.decode_file(nid, left, deliver, &mut buffer));
                }
            }
        }
    }

    /// Decodes at most `most` bytes of a file; returns how many it decoded.
    fn decode_file(
        &self,
        nid: Nid,
        most: u64,
        deliver: Option<&Deliver>,
        buffer: &mut Vec<u8>,
    ) -> u64 {
        // The reader may have been faster.
        if lock(&self.state).progress.get(&nid).is_some_and(|progress| progress.next > 0) {
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
                buffer.resize(usize::try_from(length).expect("at most `FILES_BYTES`"), 0);
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

    /// A file was read to its end, the last of `in_order` files: those after it are next.
    fn follow(&mut self, nid: Nid, in_order: usize) {
        let mut files = Vec::new();
        let mut at = nid;
        for _ in 0..2 * FILES {
            let Some(next) = self.next.get(&at).copied() else { break };
            let progress = self.progress.entry(next).or_default();
            // A reader that skips some of these files still reads in order.
            progress.in_order = progress.in_order.max(in_order);
            if in_order < IN_ORDER {
                break;
            }
            files.push(next);
            at = next;
        }
        if in_order >= IN_ORDER {
            self.credit = (self.credit + CREDIT).min(MOST_CREDIT);
        }
        self.expect(files.into_iter());
    }

    /// Files are likely to be read next: adds a job for those that were not expected before.
    fn expect(&mut self, files: impl Iterator<Item = Nid>) {
        let mut new = Vec::new();
        for nid in files {
            let progress = self.progress.entry(nid).or_default();
            progress.in_order = progress.in_order.max(IN_ORDER);
            if progress.ahead == 0 {
                progress.ahead = 1;
                new.push(nid);
            }
        }
        if !new.is_empty() {
            self.add(Job::Files(new));
        }
    }
}
