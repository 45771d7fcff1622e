//! Samples how many threads of a process run at a time.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

/// Between two samples. A sample takes about a hundredth of it.
const PERIOD: Duration = Duration::from_millis(2);

/// The seconds in which exactly one thread of a process could run, and the others waited, until `ended`.
pub(crate) fn seconds_alone(process: u32, ended: &AtomicBool) -> f64 {
    let threads = PathBuf::from(format!("/proc/{process}/task"));
    let (mut alone, mut before) = (Duration::ZERO, Instant::now());
    while !ended.load(Ordering::Relaxed) {
        thread::sleep(PERIOD);
        let now = Instant::now();
        if running(&threads) == 1 {
            alone += now - before;
        }
        before = now;
    }
    alone.as_secs_f64()
}

/// How many threads have a processor or wait for one.
fn running(threads: &Path) -> usize {
    let threads = fs::read_dir(threads).into_iter().flatten().flatten();
    let stats = threads.filter_map(|thread| fs::read(thread.path().join("stat")).ok());
    stats.filter(|stat| is_running(stat)).count()
}

/// By `/proc/PID/stat` as proc(5) has it: the state follows the name in parentheses, which may hold any bytes.
fn is_running(stat: &[u8]) -> bool {
    let name_end = stat.iter().rposition(|byte| *byte == b')');
    name_end.and_then(|end| stat.get(end + 2)) == Some(&b'R')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_found_whatever_the_name() {
        assert!(is_running(b"12 (lith) R 1 12"));
        assert!(is_running(b"12 (a) S (b) R 1 12"));
        assert!(
            !is_running(b"12 (a) R (b) D 1 12") && !is_running(b"") && !is_running(b"12 (lith)")
        );
    }

    #[test]
    fn time_alone_is_seen() {
        let ended = AtomicBool::new(false);
        let alone = thread::scope(|scope| {
            let sampled = scope.spawn(|| {
                let mut sh = std::process::Command::new("sh");
                let mut busy = sh.args(["-c", "while :; do :; done"]).spawn().unwrap();
                let alone = seconds_alone(busy.id(), &ended);
                busy.kill().unwrap();
                busy.wait().unwrap();
                alone
            });
            thread::sleep(Duration::from_millis(300));
            ended.store(true, Ordering::Relaxed);
            sampled.join().unwrap()
        });
        assert!(alone > 0.05 && alone < 60.0, "{alone}");
    }
}
