//! Shows the progress of long work as a bar on standard error.

use std::{
    io::{self, IsTerminal},
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use lith::observer::{Phase, Progress};
use lith_report::number::Bytes;

/// Shorter work shows no bar.
const DELAY: Duration = Duration::from_millis(500);
/// For so long a rate would say nothing yet.
const UNKNOWN: Duration = Duration::from_secs(1);
/// Time between two updates of the bar.
const INTERVAL: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Position {
    pub(crate) what: &'static str,
    pub(crate) done: u64,
    /// Bytes in total; 0 if unknown.
    pub(crate) total: u64,
}

/// A bar that is shown until it is dropped, if standard error is a terminal and the work takes longer than [`DELAY`].
pub(crate) struct Bar {
    watcher: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Bar {
    /// Shows `progress` if `is_wanted`.
    pub(crate) fn new(is_wanted: bool, progress: &Arc<Progress>) -> Self {
        let progress = Arc::clone(progress);
        Self::watch(is_wanted, move || Position::of(&progress))
    }

    /// Shows what `position` returns if `is_wanted`.
    pub(crate) fn watch(is_wanted: bool, position: impl Fn() -> Position + Send + 'static) -> Self {
        if !is_wanted || !io::stderr().is_terminal() {
            return Self { watcher: None };
        }
        let (stop, stopped) = mpsc::channel::<()>();
        let watcher = thread::Builder::new().name("progress".to_owned()).spawn(move || {
            if stopped.recv_timeout(DELAY) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let mut pace = Pace { what: "", since: Instant::now(), from: 0 };
            loop {
                let position = position();
                show(&bar, position, &pace.of(position));
                if stopped.recv_timeout(INTERVAL) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
            bar.finish_and_clear();
        });
        // Without a thread to draw it, there is no bar.
        Self { watcher: watcher.ok().map(|watcher| (stop, watcher)) }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some((stop, watcher)) = self.watcher.take() {
            drop(stop);
            // A watcher that panicked leaves nothing to clean up.
            let _ = watcher.join();
        }
    }
}

impl Position {
    fn of(progress: &Progress) -> Self {
        let (done, total) = (progress.done(), progress.total());
        let what = match progress.phase() {
            Phase::Starting => "starting",
            Phase::Scanning => "reading the source",
            // All content is stored, but not yet all metadata.
            Phase::Storing if total != 0 && done >= total => "finishing",
            Phase::Storing => "building",
            Phase::Verifying => "verifying",
            Phase::Checking => "checking",
            Phase::Extracting => "writing files",
            Phase::Comparing => "comparing",
            _ => "working",
        };
        Self { what, done, total }
    }
}

/// The current phase, by its name, and when it was first seen with how many bytes done.
struct Pace {
    what: &'static str,
    since: Instant,
    from: u64,
}

impl Pace {
    /// How quickly the bytes at a position were done, and how long the others take, as far as that can be told.
    fn of(&mut self, Position { what, done, total }: Position) -> String {
        if what != self.what {
            *self = Self { what, since: Instant::now(), from: done };
        }
        pace(done.saturating_sub(self.from), total.saturating_sub(done), self.since.elapsed())
    }
}

/// The rate at which bytes were done, and how long those that are left will take.
fn pace(done: u64, left: u64, elapsed: Duration) -> String {
    let millis = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
    let rate = done.saturating_mul(1000) / millis.max(1);
    if elapsed < UNKNOWN || rate == 0 {
        return String::new();
    }
    let rest = left / rate;
    let left = if rest > 0 {
        format!(", {} left", HumanDuration(Duration::from_secs(rest)))
    } else {
        String::new()
    };
    format!(" ({}/s{left})", Bytes(rate))
}

fn show(bar: &ProgressBar, Position { what, done, total }: Position, pace: &str) {
    let template = match (done, total) {
        (0, 0) => "{msg} {elapsed}",
        (_, 0) => "{msg} {binary_bytes}{prefix} {elapsed}",
        _ => "{msg} {wide_bar} {binary_bytes} of {binary_total_bytes}{prefix}",
    };
    bar.set_prefix(pace.to_owned());
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
    use lith::observer::Observer;

    use super::*;

    #[test]
    fn an_unwanted_bar_is_not_shown() {
        let bar = Bar::new(false, &Arc::default());
        assert!(bar.watcher.is_none());
    }

    #[test]
    fn the_phase_and_its_bytes_are_shown() {
        let progress = Progress::default();
        assert_eq!(Position::of(&progress), Position { what: "starting", done: 0, total: 0 });
        progress.begin(Phase::Storing);
        progress.expect(9);
        progress.advance(4);
        assert_eq!(Position::of(&progress), Position { what: "building", done: 4, total: 9 });
        progress.advance(5);
        assert_eq!(Position::of(&progress).what, "finishing");
        progress.begin(Phase::Verifying);
        assert_eq!(Position::of(&progress), Position { what: "verifying", done: 0, total: 0 });
    }

    #[test]
    fn the_rate_is_told_once_there_is_one() {
        let second = Duration::from_secs(1);
        assert_eq!(pace(5 << 20, 9 << 20, second / 2), "");
        assert_eq!(pace(0, 9 << 20, second * 9), "");
        assert_eq!(pace(4 << 20, 4 << 20, second * 2), " (2.0 MiB/s, 2 seconds left)");
        assert_eq!(pace(4 << 20, 0, second * 2), " (2.0 MiB/s)");
    }

    #[test]
    fn templates_are_valid() {
        let bar = ProgressBar::hidden();
        show(&bar, Position { what: "reading", done: 3, total: 0 }, "");
        show(&bar, Position { what: "building", done: 4, total: 9 }, "");
        assert_eq!((bar.position(), bar.length()), (4, Some(9)));
        assert_eq!(bar.message(), "building");
    }
}
