//! How does lith compare with other filesystems? Defines the program `lith-bench`, which `lith
//! bench` starts.
//!
//! [`run::run`] makes images of the same content by lith and by its rivals, mounts and reads them
//! in turn, and returns [`results`]: plain values that need no machine any more. [`render`] shows
//! them.
#![forbid(unsafe_code)]

mod args;
mod corpus;
mod error;
mod image;
mod machine;
mod mount;
mod process;
mod program;
mod reading;
mod render;
mod results;
mod run;
mod sort_file;
mod storage;
mod suite;
mod suites;
mod threads;
mod workplace;

use std::{
    env, fs,
    io::{self, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, ExitCode},
    sync::{Arc, atomic::AtomicBool},
};

use anyhow::Context;
use clap::Parser;
use signal_hook::consts::{SIGINT, SIGTERM};

use self::{args::Bench, corpus::Names, results::Results};

/// Set in the environment of a process that has mounts of its own.
const OWN_MOUNTS: &str = "LITH_BENCH_OWN_MOUNTS";

fn main() -> ExitCode {
    match run(&Bench::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        // A reader that stops early is no failure.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lith bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let mut kinds = error.chain().filter_map(|cause| cause.downcast_ref().map(io::Error::kind));
    kinds.any(|kind| kind == io::ErrorKind::BrokenPipe)
}

/// Lists suites, updates documents, or measures and writes the results.
fn run(request: &Bench) -> anyhow::Result<()> {
    if request.list {
        let suites = suites::list(&Names::known()).into_iter();
        let lines = suites.map(|(name, title)| format!("{name:<14} {title}\n"));
        return print(&lines.collect::<String>());
    }
    if !request.update.is_empty() {
        return update(request);
    }
    let has_own_mounts = env::var_os(OWN_MOUNTS).is_some();
    if !has_own_mounts && rustix::process::geteuid().is_root() {
        enter_own_mounts();
    }
    fs::create_dir_all(&request.out)
        .with_context(|| format!("cannot create {}", request.out.display()))?;
    let say = |text: &str| {
        // A closed standard error must not end hours of work.
        let _unread = writeln!(io::stderr(), "{text}");
    };
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .context("cannot wait for signals")?;
    }
    let results = run::run(request, has_own_mounts, &stop, &say)?;
    let json = render::json(&results)?;
    let results = if request.targets { results } else { results.without_targets() };
    write(&request.out, &json, &results)?;
    print(&render::markdown(&results))
}

fn update(request: &Bench) -> anyhow::Result<()> {
    request.update.iter().try_for_each(|document| {
        let changed = render::documents::update(document, &request.results)?;
        let what = if changed { "changed" } else { "up to date" };
        print(&format!("{}: {what}\n", document.display()))
    })
}

fn print(text: &str) -> anyhow::Result<()> {
    let mut output = io::stdout().lock();
    let written = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    written.context("cannot write to standard output")
}

/// Restarts this program in a mount namespace of its own, so that no mount outlives it. Does nothing where that is
/// impossible.
fn enter_own_mounts() {
    let Ok(program) = env::current_exe() else { return };
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private"]).arg(program);
    let _not_done = command.args(env::args_os().skip(1)).env(OWN_MOUNTS, "1").exec();
}

fn write(folder: &Path, json: &str, results: &Results) -> anyhow::Result<()> {
    let files = [
        ("results.json", json.to_owned()),
        ("results.md", render::markdown(results)),
        ("results.html", render::page(results)),
    ];
    for (name, text) in files {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
