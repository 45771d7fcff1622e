//! How does a person see that long work gets on?

use std::{
    io::{self, IsTerminal},
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lith::observer::Progress;

/// Work that ends sooner shows no progress.
const PATIENCE: Duration = Duration::from_millis(500);
/// Time from one look at the work to the next.
const INTERVAL: Duration = Duration::from_millis(100);

/// How far work has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Position {
    /// What is going on.
    pub(crate) what: &'static str,
    /// Bytes done.
    pub(crate) done: u64,
    /// Bytes in all; 0 if that is unknown.
    pub(crate) total: u64,
}

/// A bar on standard error while it lives, if that is a terminal and the work takes a while.
pub(crate) struct Bar {
    watcher: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Bar {
    /// Shows `progress` under the name `what`.
    pub(crate) fn of(is_wanted: bool, what: &'static str, progress: &Arc<Progress>) -> Self {
        let progress = Arc::clone(progress);
        Self::new(is_wanted, move || {
            let (done, total) = (progress.done(), progress.total());
            Position { what, done, total }
        })
    }

    /// Shows what `look` says about the work.
    pub(crate) fn new(is_wanted: bool, look: impl Fn() -> Position + Send + 'static) -> Self {
        if !is_wanted || !io::stderr().is_terminal() {
            return Self { watcher: None };
        }
        let (stop, stopped) = mpsc::channel::<()>();
        let watcher = thread::spawn(move || {
            if stopped.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            loop {
                show(&bar, look());
                if stopped.recv_timeout(INTERVAL) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
            bar.finish_and_clear();
        });
        Self { watcher: Some((stop, watcher)) }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some((stop, watcher)) = self.watcher.take() {
            drop(stop);
            // A watcher that panicked has nothing left to clean up.
            let _ = watcher.join();
        }
    }
}

fn show(bar: &ProgressBar, Position { what, done, total }: Position) {
    let template = match (done, total) {
        (0, 0) => "{msg} {elapsed}",
        (_, 0) => "{msg} {binary_bytes} ({binary_bytes_per_sec}) {elapsed}",
        _ => {
            "{msg} {wide_bar} {binary_bytes} of {binary_total_bytes} ({binary_bytes_per_sec}) {eta}"
        }
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    if total != 0 && bar.length() != Some(total) {
        bar.set_length(total);
    }
    bar.set_message(what);
    bar.set_position(done);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_shown_where_nobody_looks() {
        let bar = Bar::new(false, || Position { what: "building", done: 0, total: 0 });
        assert!(bar.watcher.is_none());
    }

    #[test]
    fn templates_are_valid() {
        let bar = ProgressBar::hidden();
        show(&bar, Position { what: "reading", done: 3, total: 0 });
        show(&bar, Position { what: "building", done: 4, total: 9 });
        assert_eq!((bar.position(), bar.length()), (4, Some(9)));
        assert_eq!(bar.message(), "building");
    }
}
