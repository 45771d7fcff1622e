//! Runs numbered jobs on all workers, and takes their results in the order of the jobs.
//!
//! Workers finish jobs in any order; one loop dispatches jobs, sorts results by number and passes them on, so what
//! becomes of them does not depend on the number of workers. The bytes under way, those of waiting results included,
//! are bounded by the memory budget. Jobs are taken in order: a worker may wait for the result of an earlier job, which
//! then is finished already or belongs to another worker.

use std::{collections::BTreeMap, thread};

use crossbeam_channel::{Receiver, Sender, unbounded};

use crate::{BuildError, Context};

/// What a worker takes at once.
pub(crate) trait Job: Send {
    /// Bytes of content.
    fn bytes(&self) -> u64;
}

/// Does jobs, with memory of its own that it uses again.
pub(crate) trait Worker {
    type Job: Job;
    type Done: Send;

    fn work(&mut self, job: Self::Job) -> Result<Self::Done, BuildError>;
}

type Numbered<T> = (u64, T);
/// Waits for the next result, of whichever job; `None`: there are no more.
type Await<'a, W> = dyn FnMut() -> Option<Numbered<Result<<W as Worker>::Done, BuildError>>> + 'a;

/// Bytes that encoders leave for content: enough for two segments as read and as stored.
const LEAST: u64 = 64 << 20;

/// What may be under way at once, and what is.
pub(crate) struct Room {
    workers: usize,
    /// Jobs: enough to keep all workers busy, even while the one whose result comes next takes long.
    most_jobs: usize,
    /// Bytes of content, each of which is held twice: as read and as stored.
    pub(crate) most_bytes: u64,
    jobs: usize,
    bytes: u64,
}

impl Room {
    /// The room that the encoders of the workers leave, each of which takes `encoders` bytes. Where that would be too
    /// little there are fewer workers.
    ///
    /// Compression takes much longer for some jobs than for others; data that is only copied should be written while
    /// it is in a core's cache.
    pub(crate) fn new(context: &Context<'_>, compresses: bool, encoders: u64) -> Self {
        let jobs_per_worker = if compresses { 32 } else { 3 };
        let memory = context.memory as u64;
        let least = LEAST.min(memory / 4);
        let fitting = (memory - least).checked_div(encoders).unwrap_or(u64::MAX);
        let fitting = usize::try_from(fitting.max(1)).unwrap_or(usize::MAX);
        let workers = context.workers.get().min(fitting);
        let free = memory.saturating_sub(encoders.saturating_mul(workers as u64)).max(least);
        Self {
            workers,
            most_jobs: workers.saturating_mul(jobs_per_worker),
            most_bytes: free / 5 * 2,
            jobs: 0,
            bytes: 0,
        }
    }

    /// Takes the room for a job of `bytes`, if there is that much; for a single one there always is.
    const fn take(&mut self, bytes: u64) -> bool {
        let fits = self.jobs < self.most_jobs && self.bytes + bytes <= self.most_bytes;
        if fits || self.is_empty() {
            self.jobs += 1;
            self.bytes += bytes;
            return true;
        }
        false
    }

    const fn release(&mut self, bytes: u64) {
        self.jobs -= 1;
        self.bytes -= bytes;
    }

    /// Whether nothing is under way.
    const fn is_empty(&self) -> bool {
        self.jobs == 0
    }
}

/// Ends the build when a worker panics in the middle of a job, which no other worker would finish.
struct Alarm<'r, T> {
    number: u64,
    results: &'r Sender<Numbered<Result<T, BuildError>>>,
}

impl<T> Drop for Alarm<'_, T> {
    fn drop(&mut self) {
        if thread::panicking() {
            // If the receiver is gone, the build has ended already.
            let _sent = self.results.send((self.number, Err(BuildError::WorkerPanicked)));
        }
    }
}

/// Runs all jobs that `next` returns, and passes each result on to `take`, in the order of the jobs.
///
/// # Errors
/// The first error of `next`, of a job or of `take`; [`BuildError::Cancelled`] if the observer cancels.
pub(crate) fn in_order<W: Worker>(
    (room, context): (Room, &Context<'_>),
    worker: impl Fn() -> W + Sync,
    next: impl FnMut() -> Result<Option<W::Job>, BuildError>,
    take: impl FnMut(W::Done) -> Result<(), BuildError>,
) -> Result<(), BuildError> {
    let (to_workers, queue) = unbounded::<Numbered<W::Job>>();
    let (results, finished) = unbounded();
    let worker = &worker;
    thread::scope(move |scope| {
        let started = (0..room.workers).map_while(|_| {
            let (queue, results) = (queue.clone(), results.clone());
            lith_parallel::start(scope, move || serve(worker(), &queue, &results))
        });
        let await_result: Box<Await<'_, W>> = if started.count() > 0 {
            Box::new(move || finished.recv().ok())
        } else {
            // The system starts no thread: this one does each job when its result is due.
            let mut worker = worker();
            let queue = queue.clone();
            Box::new(move || queue.try_recv().ok().map(|(number, job)| (number, worker.work(job))))
        };
        drop((queue, results));
        dispatch::<W>((room, context), (to_workers, await_result), next, take)
    })
}

fn serve<W: Worker>(
    mut worker: W,
    queue: &Receiver<Numbered<W::Job>>,
    results: &Sender<Numbered<Result<W::Done, BuildError>>>,
) {
    for (number, job) in queue {
        let alarm = Alarm { number, results };
        let sent = results.send((number, worker.work(job)));
        drop(alarm);
        if sent.is_err() {
            return;
        }
    }
}

/// Returning drops the channel to the workers, which then end.
fn dispatch<W: Worker>(
    (mut room, context): (Room, &Context<'_>),
    (to_workers, mut await_result): (Sender<Numbered<W::Job>>, Box<Await<'_, W>>),
    mut next: impl FnMut() -> Result<Option<W::Job>, BuildError>,
    mut take: impl FnMut(W::Done) -> Result<(), BuildError>,
) -> Result<(), BuildError> {
    let mut sent = 0;
    let mut under_way = BTreeMap::new();
    let mut waiting = BTreeMap::new();
    let mut ready = next()?;
    loop {
        while let Some(job) = ready.take_if(|job| room.take(job.bytes())) {
            under_way.insert(sent, job.bytes());
            // Workers end only when the channel is dropped, so one of them will take it.
            let _sent = to_workers.send((sent, job));
            sent += 1;
            ready = next()?;
        }
        if room.is_empty() {
            return Ok(());
        }
        if context.observer.is_cancelled() {
            return Err(BuildError::Cancelled);
        }
        let Some((number, done)) = await_result() else { return Ok(()) };
        waiting.insert(number, done);
        while let Some(oldest) = under_way.first_entry()
            && let Some(done) = waiting.remove(oldest.key())
        {
            let bytes = oldest.remove();
            take(done?)?;
            room.release(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{num::NonZeroUsize, path::Path, time::Duration};

    use lith_observer::{Observer, Progress};

    use super::*;

    struct Square;

    impl Job for u64 {
        fn bytes(&self) -> u64 {
            1
        }
    }

    impl Worker for Square {
        type Job = u64;
        type Done = u64;

        fn work(&mut self, job: u64) -> Result<u64, BuildError> {
            // Later jobs of a group finish first.
            thread::sleep(Duration::from_micros(100 * (4 - job % 5)));
            if job == 77 { Err(BuildError::TooLarge { limit: job }) } else { Ok(job * job) }
        }
    }

    fn squares(workers: usize, jobs: u64, observer: &dyn Observer) -> Result<Vec<u64>, BuildError> {
        let mut context = Context::new(Path::new("."));
        context.workers = NonZeroUsize::new(workers).unwrap();
        context.observer = observer;
        let (mut next, mut found) = (0, Vec::new());
        let jobs = || {
            next += 1;
            Ok(Some(next - 1).filter(|job| *job < jobs))
        };
        let room = Room::new(&context, true, 0);
        in_order(
            (room, &context),
            || Square,
            jobs,
            |square| {
                found.push(square);
                Ok(())
            },
        )?;
        Ok(found)
    }

    #[test]
    fn results_come_in_the_order_of_jobs() {
        for workers in [1, 2, 7] {
            let expected: Vec<_> = (0..70).map(|job| job * job).collect();
            assert_eq!(squares(workers, 70, &()).unwrap(), expected);
        }
    }

    #[test]
    fn encoders_count_as_memory() {
        let mut context = Context::new(Path::new("."));
        (context.workers, context.memory) = (NonZeroUsize::new(8).unwrap(), 500 << 20);
        let room = |encoders: u64| {
            let Room { workers, most_bytes, .. } = Room::new(&context, true, encoders);
            (workers, most_bytes >> 20)
        };
        assert_eq!(room(0), (8, 200));
        assert_eq!(room(25 << 20), (8, 120));
        assert_eq!(room(100 << 20), (4, 40), "four workers take 400 MiB");
        assert_eq!(room(1 << 30), (1, 25), "one there is anyhow");
    }

    #[test]
    fn an_error_and_cancelling_end_the_work() {
        assert!(matches!(squares(2, 100, &()), Err(BuildError::TooLarge { limit: 77 })));
        let progress = Progress::default();
        progress.cancel();
        assert!(matches!(squares(2, 100, &progress), Err(BuildError::Cancelled)));
    }
}
