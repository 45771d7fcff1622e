//! How do several workers share the plan's jobs?

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use super::{
    ExtractError, Extraction,
    entries::{OpenDirectory, Place},
    file::Shared,
    plan::{Entry, Job, Plan},
};

/// So many bytes are read and written at once.
const BUFFER: usize = 1 << 20;

/// Does all jobs of the plan. After the first error workers finish what they have begun, and no large file stays
/// unfinished.
pub(super) fn run(extraction: &Extraction<'_>, plan: &Plan<'_>) -> Result<(), ExtractError> {
    let pool = Pool {
        extraction,
        plan,
        large: plan.large.iter().map(Shared::new).collect(),
        next: AtomicUsize::new(0),
        stopped: AtomicBool::new(false),
        error: Mutex::new(None),
    };
    let workers = extraction.options.workers.get().min(plan.jobs.len());
    thread::scope(|scope| {
        for _ in 1..workers {
            scope.spawn(|| pool.work());
        }
        pool.work();
    });
    let error = pool.error.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some((_, error)) = error else {
        return Ok(());
    };
    for large in &pool.large {
        large.remove_unfinished(extraction);
    }
    Err(error)
}

struct Pool<'a> {
    extraction: &'a Extraction<'a>,
    plan: &'a Plan<'a>,
    large: Vec<Shared<'a>>,
    next: AtomicUsize,
    stopped: AtomicBool,
    /// The error of the earliest job that had one.
    error: Mutex<Option<(usize, ExtractError)>>,
}

impl Pool<'_> {
    fn work(&self) {
        let mut buffer = vec![0; BUFFER];
        let mut open = None;
        while !self.stopped.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = self.plan.jobs.get(number) else {
                return;
            };
            if let Err(error) = self.run_job(job, &mut open, &mut buffer) {
                self.stop(number, error);
            }
        }
    }

    fn stop(&self, number: usize, error: ExtractError) {
        self.stopped.store(true, Ordering::Relaxed);
        let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(earlier, _)| number < *earlier) {
            *first = Some((number, error));
        }
    }

    fn run_job(
        &self,
        job: &Job,
        open: &mut Option<OpenDirectory>,
        buffer: &mut [u8],
    ) -> Result<(), ExtractError> {
        self.extraction.check_cancelled()?;
        match job {
            Job::Entries(range) => {
                let entries = self.plan.entries.get(range.clone()).unwrap_or_default();
                entries.iter().try_for_each(|entry| self.make_entry(entry, open, buffer))
            }
            Job::Segment { large, range } => match self.large.get(*large) {
                Some(large) => large.write_segment(self.extraction, range.clone(), buffer),
                None => Ok(()),
            },
        }
    }

    fn make_entry(
        &self,
        entry: &Entry<'_>,
        open: &mut Option<OpenDirectory>,
        buffer: &mut [u8],
    ) -> Result<(), ExtractError> {
        let directory = OpenDirectory::reuse(open, self.extraction, entry.parent)?;
        Place::new(self.extraction, directory, entry).make(buffer)?;
        self.extraction.counter.named(1);
        Ok(())
    }
}
