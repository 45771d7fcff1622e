//! Defines [`work`], which fills a file as its readers wait for it.

use std::{
    io::{self, Read, Write},
    ops::Range,
    os::unix::net::UnixStream,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::Duration,
};

use crate::message::{Answer, REQUEST, Request};

/// Threads that wait for bytes.
const THREADS: usize = 32;
/// How long it is waited after some bytes were filled until it is looked whether all are there.
const PAUSE: Duration = Duration::from_millis(300);
/// The same if nobody reads.
const LONG_PAUSE: Duration = Duration::from_secs(2);

/// A file that is filled.
pub trait Filler: Send + Sync + 'static {
    /// Whether these bytes are there, at once.
    fn has(&self, range: &Range<u64>) -> bool;

    /// Returns when these bytes are there. Called by several threads.
    ///
    /// # Errors
    /// Why they can't be had.
    fn fill(&self, range: Range<u64>) -> io::Result<()>;

    /// Is called from time to time by one thread. Returns whether all bytes are there, for good.
    fn settle(&self) -> bool;
}

/// Why a worker ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// There is nothing more to do.
    Done,
    /// The guard is dead. The caller holds the group, and has to take the place of the guard.
    Alone,
}

/// Does what a guard requests by a connection, until it ends.
///
/// # Errors
/// If no threads can be started.
pub fn work(connection: UnixStream, filler: &Arc<dyn Filler>) -> io::Result<Left> {
    let answers = Arc::new(Mutex::new(connection.try_clone()?));
    let (missing, taken) = mpsc::channel::<(u64, Range<u64>)>();
    let taken = Arc::new(Mutex::new(taken));
    let (tick, ticks) = mpsc::channel();
    for _ in 0..THREADS {
        let (filler, answers, taken, tick) =
            (Arc::clone(filler), Arc::clone(&answers), Arc::clone(&taken), tick.clone());
        thread::Builder::new()
            .name("fill".to_owned())
            .spawn(move || fill(&*filler, &answers, &taken, &tick))?;
    }
    let (of_settler, settled) = (Arc::clone(filler), Arc::clone(&answers));
    thread::Builder::new()
        .name("settle".to_owned())
        .spawn(move || settle(&*of_settler, &settled, &ticks))?;
    let mut connection = connection;
    let mut bytes = [0; REQUEST];
    while connection.read_exact(&mut bytes).is_ok() {
        match Request::decode(&bytes) {
            Some(Request::Fill(number, range)) if filler.has(&range) => {
                send(&answers, Answer::Filled(number));
            }
            Some(Request::Fill(number, range)) => {
                // Threads take them as long as this one lives.
                let _sent = missing.send((number, range));
            }
            Some(Request::End) | None => {
                filler.settle();
                return Ok(Left::Done);
            }
        }
    }
    Ok(Left::Alone)
}

fn fill(
    filler: &dyn Filler,
    answers: &Mutex<UnixStream>,
    taken: &Mutex<Receiver<(u64, Range<u64>)>>,
    tick: &Sender<()>,
) {
    loop {
        let next = taken.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((number, range)) = next else { return };
        let answer = match filler.fill(range) {
            Ok(()) => Answer::Filled(number),
            Err(_) => Answer::Failed(number),
        };
        send(answers, answer);
        let _ended = tick.send(());
    }
}

fn settle(filler: &dyn Filler, answers: &Mutex<UnixStream>, ticks: &Receiver<()>) {
    while !filler.settle() {
        if ticks.recv_timeout(LONG_PAUSE).is_ok() {
            thread::sleep(PAUSE);
        }
        while ticks.try_recv().is_ok() {}
    }
    send(answers, Answer::Complete);
}

/// If the guard is dead, the reading thread notices it.
fn send(answers: &Mutex<UnixStream>, answer: Answer) {
    let mut connection = answers.lock().unwrap_or_else(PoisonError::into_inner);
    let _gone = connection.write_all(&answer.encode());
}
