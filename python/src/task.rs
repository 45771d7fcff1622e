//! Runs long work so that Ctrl-C cancels it.

use std::{panic, sync::mpsc, sync::mpsc::RecvTimeoutError, thread, time::Duration};

use lith::Progress;
use pyo3::prelude::*;

/// How often signals are looked for.
const INTERVAL: Duration = Duration::from_millis(100);

/// Runs `work` on a thread of its own, without the interpreter's lock. A signal whose handler raises an exception cancels
/// the work, and that exception is the result.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Progress) -> T + Send,
) -> PyResult<T> {
    let progress = Progress::default();
    py.detach(|| {
        thread::scope(|scope| {
            let (alive, ended) = mpsc::channel::<()>();
            let progress = &progress;
            let worker = scope.spawn(move || {
                let _alive = alive;
                work(progress)
            });
            let mut raised = None;
            while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                if let Err(error) = check_signals() {
                    progress.cancel();
                    raised = Some(error);
                }
            }
            let result = worker.join().unwrap_or_else(|cause| panic::resume_unwind(cause));
            raised.map_or(Ok(result), Err)
        })
    })
}

#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method is for one lifetime only"
)]
fn check_signals() -> PyResult<()> {
    Python::attach(|py| py.check_signals())
}
