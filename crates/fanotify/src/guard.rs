//! Defines [`Guard`], which keeps readers waiting, whatever becomes of the worker.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
    process::Child,
    sync::mpsc::{Receiver, TryRecvError},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

use crate::{
    Group,
    message::{ANSWER, Answer, Request},
    waiting::Waiting,
};

/// An event that no worker has answered for so long is denied. Longer than any series of requests of a worker.
const PATIENCE: Duration = Duration::from_secs(180);
/// The shortest time between the starts of two workers.
const SHORTEST: Duration = Duration::from_millis(100);
/// The time between those of workers that end without having answered anything, at last.
const LONGEST: Duration = Duration::from_secs(1);
/// How often it is looked whether the mount is still there.
const PAUSE: Duration = Duration::from_secs(1);
/// The same after the list of mounts has changed, as the end of a mount takes a moment; and how often.
const SOON: (Duration, u32) = (Duration::from_millis(20), 50);
/// More descriptors than a guard has had for events.
const DESCRIPTORS: i32 = 1024;

/// Starts a worker, which gets a connection as standard input and the group as standard output.
pub type Start = dyn FnMut(OwnedFd, OwnedFd) -> io::Result<Child>;

/// Takes events, passes them on to a worker, and answers them as that says.
pub struct Guard {
    group: Group,
    start: Box<Start>,
    worker: Option<Worker>,
    waiting: Waiting,
    /// Whether one of the events was about these bytes.
    expected: (u64, bool),
    /// When the next worker may start, and how long the one after it waits.
    next: (Instant, Duration),
    is_complete: bool,
}

/// Why a guard has nothing to do any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Nothing uses the mount any more.
    Unmounted,
    /// All bytes are there.
    Complete,
}

struct Worker {
    child: Child,
    connection: UnixStream,
    /// Bytes of an answer that is not complete.
    received: Vec<u8>,
    has_answered: bool,
}

impl Guard {
    /// A guard of a group whose events nobody has taken yet. `first` is the position of bytes that a mount begins with.
    #[must_use]
    pub fn new(group: Group, start: Box<Start>, first: u64) -> Self {
        Self {
            group,
            start,
            worker: None,
            waiting: Waiting::default(),
            expected: (first, false),
            next: (Instant::now(), SHORTEST),
            is_complete: false,
        }
    }

    /// A guard in place of one that died. What that has not answered is denied.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn in_place_of_another(group: Group, start: Box<Start>) -> io::Result<Self> {
        group.deny_below(DESCRIPTORS)?;
        Ok(Self::new(group, start, 0))
    }

    /// Serves until a thread has sent something, which it returns. `None`: it ended without.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn serve_until<T>(&mut self, done: &Receiver<T>) -> io::Result<Option<T>> {
        loop {
            match done.try_recv() {
                Ok(sent) => return Ok(Some(sent)),
                Err(TryRecvError::Disconnected) => return Ok(None),
                Err(TryRecvError::Empty) => self.step(SOON.0, None).map(drop)?,
            }
        }
    }

    /// Whether there was an event about the first bytes. A kernel that mounts a file without one doesn't report what it reads
    /// of metadata, and would take zeros for it.
    #[must_use]
    pub const fn has_seen_first(&self) -> bool {
        self.expected.1
    }

    /// Serves until the mount has ended, or all bytes are there.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn serve(mut self) -> io::Result<Ending> {
        let mounts = File::open("/proc/self/mountinfo")?;
        let mut soon = 0;
        loop {
            if self.is_complete {
                self.end();
                return Ok(Ending::Complete);
            }
            let pause = if soon > 0 { SOON.0 } else { PAUSE };
            if self.step(pause, Some(&mounts))? {
                soon = SOON.1;
            } else {
                soon = soon.saturating_sub(1);
            }
            if !self.group.is_watching()? {
                self.end();
                return Ok(Ending::Unmounted);
            }
        }
    }

    /// Says to the worker that its connection does not end by accident.
    fn end(&mut self) {
        if let Some(worker) = &mut self.worker {
            let _gone = worker.connection.write_all(&Request::End.encode());
        }
    }

    /// Does what there is to do, or waits for it. Returns whether the list of mounts has changed.
    fn step(&mut self, pause: Duration, mounts: Option<&File>) -> io::Result<bool> {
        self.ensure_worker();
        for fd in self.waiting.take_older(PATIENCE) {
            self.group.answer(fd, false)?;
        }
        let ready = self.wait(pause, mounts)?;
        if ready.answers && !self.take_answers()? {
            self.bury_worker();
        }
        if ready.events {
            self.take_events()?;
        }
        Ok(ready.mounts)
    }

    /// Starts a worker if there is none, and passes on what waits. One that can't be started is tried again later.
    fn ensure_worker(&mut self) {
        if self.worker.is_some() || Instant::now() < self.next.0 {
            return;
        }
        self.next.0 = Instant::now() + self.next.1;
        self.next.1 = (self.next.1 * 2).min(LONGEST);
        let Ok(mut worker) = self.start_worker() else { return };
        let requests = self.waiting.all().map(|(number, range)| Request::Fill(number, range));
        let bytes: Vec<u8> = requests.flat_map(|request| request.encode()).collect();
        // If it is dead already, that is noticed by its connection.
        let _dead = worker.connection.write_all(&bytes);
        self.worker = Some(worker);
    }

    fn start_worker(&mut self) -> io::Result<Worker> {
        let (connection, theirs) = UnixStream::pair()?;
        let child = (self.start)(theirs.into(), self.group.share()?)?;
        Ok(Worker { child, connection, received: Vec::new(), has_answered: false })
    }

    fn bury_worker(&mut self) {
        let Some(mut worker) = self.worker.take() else { return };
        // It has closed its connection, so it ends.
        let _status = worker.child.kill();
        let _status = worker.child.wait();
        if worker.has_answered {
            self.next.1 = SHORTEST;
            self.next.0 = self.next.0.min(Instant::now() + SHORTEST);
        }
    }

    fn wait(&self, pause: Duration, mounts: Option<&File>) -> io::Result<Ready> {
        let mut fds = Vec::with_capacity(3);
        // The connection first, as numbers of events are removed by answers.
        if let Some(worker) = &self.worker {
            fds.push((
                Source::Worker,
                PollFd::from_borrowed_fd(worker.connection.as_fd(), PollFlags::IN),
            ));
        }
        if !self.waiting.is_full() {
            fds.push((Source::Group, PollFd::from_borrowed_fd(self.group.as_fd(), PollFlags::IN)));
        }
        if let Some(mounts) = mounts {
            fds.push((Source::Mounts, PollFd::from_borrowed_fd(mounts.as_fd(), PollFlags::PRI)));
        }
        let until_worker = self.next.0.saturating_duration_since(Instant::now());
        let pause = if self.worker.is_none() { pause.min(until_worker) } else { pause };
        let timeout = Timespec::try_from(pause).map_err(io::Error::other)?;
        let (sources, mut fds): (Vec<_>, Vec<_>) = fds.into_iter().unzip();
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Ready::default()),
            Err(errno) => return Err(errno.into()),
        }
        let is_ready = |source| {
            let ready = sources.iter().zip(&fds).find(|(other, _)| **other == source);
            ready.is_some_and(|(_, fd)| !fd.revents().is_empty())
        };
        Ok(Ready {
            answers: is_ready(Source::Worker),
            events: is_ready(Source::Group),
            mounts: is_ready(Source::Mounts),
        })
    }

    /// Passes on what the worker says; `false`: it is dead.
    fn take_answers(&mut self) -> io::Result<bool> {
        let Some(worker) = &mut self.worker else { return Ok(true) };
        let mut buffer = [0; 4096];
        match worker.connection.read(&mut buffer) {
            Ok(0) => return Ok(false),
            Ok(read) => worker.received.extend_from_slice(buffer.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            Err(_) => return Ok(false),
        }
        worker.has_answered = true;
        let whole = worker.received.len() / ANSWER * ANSWER;
        let answers: Vec<u8> = worker.received.drain(..whole).collect();
        for answer in answers.chunks(ANSWER).filter_map(Answer::decode) {
            let (number, is_there) = match answer {
                Answer::Complete => {
                    self.is_complete = true;
                    continue;
                }
                Answer::Filled(number) => (number, true),
                Answer::Failed(number) => (number, false),
            };
            if let Some(fd) = self.waiting.take(number) {
                self.group.answer(fd, is_there)?;
            }
        }
        Ok(true)
    }

    fn take_events(&mut self) -> io::Result<()> {
        for event in self.group.events()? {
            if event.fd < 0 {
                continue;
            }
            // All events of the group have ranges.
            let Some(range) = event.range else {
                self.group.answer(event.fd, false)?;
                continue;
            };
            self.expected.1 |= range.contains(&self.expected.0);
            let number = self.waiting.add(event.fd, range.clone());
            if let Some(worker) = &mut self.worker {
                let _dead = worker.connection.write_all(&Request::Fill(number, range).encode());
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guard").field("waiting", &self.waiting).finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Worker,
    Group,
    Mounts,
}

#[derive(Default)]
struct Ready {
    answers: bool,
    events: bool,
    mounts: bool,
}
