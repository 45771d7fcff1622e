//! Lets system calls of a program fail, and signals arrive in them, by strace(1).

use std::{
    collections::BTreeMap,
    fmt, fs,
    path::Path,
    process::{Command, Stdio},
};

/// The name that ends the runtime's own start: its last call before `main`.
const STARTED: &str = "sigaltstack";

/// Calls of the end, those that fail nowhere, and those whose failure no program can be told about.
const LEFT_OUT: [&str; 6] = ["exit", "exit_group", "execve", "futex", "getrandom", "brk"];

/// A failure of the `number`th call of this name in each thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The system call.
    pub call: String,
    /// Counted from 1.
    pub number: usize,
}

impl Fault {
    /// The error that the call fails with: one that it can have, and that nothing repairs.
    #[must_use]
    pub fn error(&self) -> &'static str {
        match &*self.call {
            "mmap" | "mprotect" | "munmap" | "mremap" | "madvise" => "ENOMEM",
            "clone" | "clone3" => "EAGAIN",
            "open" | "openat" | "openat2" | "dup" | "pipe2" => "EMFILE",
            "write" | "pwrite64" | "fallocate" | "copy_file_range" => "ENOSPC",
            _ => "EIO",
        }
    }

    /// Whether it takes memory from the program or its threads, which may then be aborted.
    #[must_use]
    pub fn is_of_memory(&self) -> bool {
        let memory = ["ENOMEM"].contains(&self.error());
        memory || ["sigaltstack", "set_robust_list", "rseq"].contains(&&*self.call)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:error={}:when={}", self.call, self.error(), self.number)
    }
}

/// Whether strace runs and may change a program's calls.
///
/// # Errors
/// Why not.
pub fn is_there() -> Result<(), String> {
    let mut command = Command::new("strace");
    command.args(["-o", "/dev/null", "-e", "trace=chdir", "-e", "inject=chdir:error=EIO"]);
    let status = command.args(["sh", "-c", "! cd /"]).stderr(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err("strace may not trace here".into()),
        Err(error) => Err(format!("strace: {error}")),
    }
}

/// A command of strace with these injections, in strace's own words, to which the program and its arguments are added. It
/// ends as the program does, after at most a minute.
#[must_use]
pub fn with(injections: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "60", "strace", "-f", "-qq", "-o", "/dev/null"]);
    let calls: Vec<_> = injections.iter().filter_map(|one| one.split(':').next()).collect();
    command.arg("-e").arg(format!("trace={}", calls.join(",")));
    for injection in injections {
        command.arg("-e").arg(format!("inject={injection}"));
    }
    // A panic prints no backtrace.
    command.env("RUST_BACKTRACE", "0");
    command
}

/// All calls that a program makes from its `main` on, each as one that can fail; `log` is where strace writes.
///
/// # Panics
/// If it can't be traced.
#[must_use]
pub fn faults(log: &Path, command: &Command) -> Vec<Fault> {
    let mut traced = Command::new("strace");
    traced.args(["-f", "-qq", "-o"]).arg(log).arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        traced.current_dir(folder);
    }
    let status = traced.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.is_ok(), "strace runs");
    let text = fs::read(log).unwrap();
    let text = String::from_utf8_lossy(&text);
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let (mut skipped, mut is_started) = (BTreeMap::<&str, usize>::new(), false);
    for line in text.lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        let Some((name, _)) = call.trim_start().split_once('(') else { continue };
        if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            continue;
        }
        *counts.entry((name, thread)).or_default() += 1;
        if !is_started {
            *skipped.entry(name).or_default() += 1;
        }
        is_started |= name == STARTED;
    }
    let mut most = BTreeMap::<&str, usize>::new();
    for ((name, _), count) in counts {
        let most = most.entry(name).or_default();
        *most = count.max(*most);
    }
    let faults = most.into_iter().filter(|(name, _)| !LEFT_OUT.contains(name));
    faults
        .flat_map(|(name, count)| {
            let first = skipped.get(name).copied().unwrap_or_default() + 1;
            (first..=count).map(|number| Fault { call: name.to_owned(), number })
        })
        .collect()
}
