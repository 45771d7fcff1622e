//! How does a file get onto the disk while it is still being written?

use std::{
    fs::File,
    io,
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

/// How much must be new for the disk to be bothered.
const STEP: u64 = 32 << 20;
/// How often the file's size is looked at.
const INTERVAL: Duration = Duration::from_millis(5);

/// Does `work`, which writes to `file` and calls the function it is given when all is written. Meanwhile another
/// thread sends what is written to the disk.
///
/// Returns what `work` returns, and whether everything is on the disk.
///
/// # Errors
/// Those of `work`.
pub(crate) fn beside<T, E>(
    file: &File,
    work: impl FnOnce(&dyn Fn()) -> Result<T, E>,
) -> Result<(T, io::Result<()>), E> {
    let (finished, waiting) = mpsc::channel();
    thread::scope(|scope| {
        let Some(flusher) = lith_parallel::start(scope, move || flush(file, &waiting)) else {
            return Ok((work(&|| ())?, file.sync_data()));
        };
        let done = work(&|| {
            // A flusher that met an error doesn't listen any more.
            let _sent = finished.send(());
        });
        // If the work failed before all was written, the flusher learns by this that nothing more will come.
        drop(finished);
        let written = flusher.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok((done?, written))
    })
}

/// Flushes the file each time that it has grown by a step, and once more when it is finished.
fn flush(file: &File, finished: &Receiver<()>) -> io::Result<()> {
    let mut flushed = 0;
    loop {
        match finished.recv_timeout(INTERVAL) {
            Ok(()) => return file.sync_data(),
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let size = file.metadata()?.len();
        if size >= flushed + STEP {
            file.sync_data()?;
            flushed = size;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn work_is_done_and_flushed_or_its_error_told() {
        let file = tempfile::tempfile().unwrap();
        let (value, flushed) = beside(&file, |finished| {
            (&file).write_all(&[1; 1 << 12])?;
            finished();
            Ok::<_, io::Error>(7)
        })
        .unwrap();
        assert_eq!(value, 7);
        flushed.unwrap();
        let failed = beside(&file, |_finished| Err::<(), _>("no"));
        assert_eq!(failed.unwrap_err(), "no");
    }
}
