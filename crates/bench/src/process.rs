//! Runs commands and measures time, CPU, memory and I/O.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    process::{Command, ExitStatus, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Instant,
};

use wait4::Wait4;

use crate::{error::CommandError, threads::seconds_alone};

/// The most bytes of output in the error of a command that failed.
const TOLD: u64 = 4096;

#[derive(Clone, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) wall: f64,
    /// Seconds of CPU of it and all that it waited for.
    pub(crate) cpu: f64,
    /// The most memory of any of these processes.
    pub(crate) peak: u64,
}

/// Runs a command to its end without its output; a failure is an error with the end of what it printed.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<Usage> {
    run_beside(command, |_, _| ()).map(|(usage, ())| usage)
}

/// The same with the seconds in which exactly one thread of the command ran.
pub(crate) fn trace(command: &mut Command) -> anyhow::Result<(Usage, f64)> {
    run_beside(command, seconds_alone)
}

/// Runs a command and beside it `watch`, which is given its number and returns when the flag is set.
fn run_beside<T: Send>(
    command: &mut Command,
    watch: impl FnOnce(u32, &AtomicBool) -> T + Send,
) -> anyhow::Result<(Usage, T)> {
    let text = text_of(command);
    let fail = |error: io::Error| CommandError {
        command: text.clone(),
        why: error.to_string(),
        output: String::new(),
    };
    let mut log = tempfile::tempfile().map_err(fail)?;
    let errors = log.try_clone().map_err(fail)?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
    let start = Instant::now();
    let mut child = command.spawn().map_err(fail)?;
    let (ended, process) = (AtomicBool::new(false), child.id());
    let (waited, wall, watched) = thread::scope(|scope| {
        let watching = scope.spawn(|| watch(process, &ended));
        let waited = child.wait4();
        let wall = start.elapsed().as_secs_f64();
        ended.store(true, Ordering::Relaxed);
        (waited, wall, watching.join().expect("watching doesn't panic"))
    });
    let ended = waited.map_err(fail)?;
    if !ended.status.success() {
        return Err(ended_with(&text, ended.status, &mut log).into());
    }
    let usage = ended.rusage;
    let cpu = (usage.utime + usage.stime).as_secs_f64();
    Ok((Usage { wall, cpu, peak: usage.maxrss }, watched))
}

pub(crate) fn ended_with(command: &str, status: ExitStatus, log: &mut File) -> CommandError {
    CommandError { command: command.into(), why: status.to_string(), output: end_of(log) }
}

/// The last that was printed to a log.
fn end_of(log: &mut File) -> String {
    let mut bytes = Vec::new();
    let length = log.seek(SeekFrom::End(0)).unwrap_or(0);
    let read = log
        .seek(SeekFrom::Start(length.saturating_sub(TOLD)))
        .and_then(|_| log.take(TOLD).read_to_end(&mut bytes));
    match read {
        Ok(_) => String::from_utf8_lossy(&bytes).trim().to_owned(),
        Err(error) => format!("(what it printed can't be read: {error})"),
    }
}

/// A command as one would type it, but for quotes.
pub(crate) fn text_of(command: &Command) -> String {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_measured_with_what_it_waited_for() {
        let script = "n=0; while [ $n -lt 200000 ]; do n=$((n + 1)); done";
        let usage = run(Command::new("sh").args(["-c", &format!("sh -c '{script}'; :")])).unwrap();
        assert!(usage.cpu > 0.0 && usage.wall >= usage.cpu / 2.0, "{usage:?}");
        assert!(usage.peak > 100_000, "{usage:?}");
    }

    #[test]
    fn a_failure_tells_what_was_said() {
        let error = run(Command::new("sh").args(["-c", "echo so >&2; exit 3"])).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("exit status: 3") && text.ends_with("\n  so"), "{text}");
        let error = run(&mut Command::new("/there/is/none")).unwrap_err().to_string();
        assert!(error.starts_with("/there/is/none: "), "{error}");
    }
}
