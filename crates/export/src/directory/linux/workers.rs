//! Runs the plan's jobs in several threads.

use lith_parallel::try_map;

use super::{
    ExtractError, entries,
    extraction::Extraction,
    file::LargeFile,
    place::{OpenDirectory, Place},
    plan::{Entry, Job, Plan},
};

/// Bytes read and written at once.
const BUFFER: usize = 1 << 20;

/// Runs all jobs of the plan. After the first error workers finish the jobs that they have started, and unfinished large files
/// are removed.
pub(super) fn run(extraction: &Extraction<'_>, plan: &Plan<'_>) -> Result<(), ExtractError> {
    let large: Vec<_> = plan.large.iter().map(LargeFile::new).collect();
    let worker = || Worker { extraction, open: None, buffer: vec![0; BUFFER] };
    let done = try_map(&plan.jobs, extraction.options.workers, worker, |worker, job| {
        extraction.check_cancelled()?;
        match job {
            Job::Entries(range) => {
                let entries = plan.entries.get(range.clone());
                let entries = entries.expect("jobs are made of the plan's entries");
                entries.iter().try_for_each(|entry| worker.make_entry(entry))
            }
            Job::Segment { large: number, range } => {
                let file = large.get(*number).expect("segments are made of the plan's large files");
                file.write_segment(extraction, range.clone(), &mut worker.buffer)
            }
        }
    });
    if done.is_err() {
        for file in &large {
            file.remove_unfinished(extraction);
        }
    }
    done.map(drop)
}

struct Worker<'a> {
    extraction: &'a Extraction<'a>,
    /// The directory in which the last entry was made.
    open: Option<OpenDirectory>,
    buffer: Vec<u8>,
}

impl Worker<'_> {
    fn make_entry(&mut self, entry: &Entry<'_>) -> Result<(), ExtractError> {
        let directory = OpenDirectory::reuse(&mut self.open, self.extraction, entry.parent)?;
        entries::make(&Place::new(self.extraction, directory, entry), &mut self.buffer)?;
        self.extraction.counter.named(1);
        Ok(())
    }
}
