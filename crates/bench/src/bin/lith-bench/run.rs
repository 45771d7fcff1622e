//! Runs the requested suites and writes the results.

use std::{
    env, fs,
    io::{self, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::Command,
    sync::{Arc, atomic::AtomicBool},
};

use anyhow::Context;
use lith_bench::{Corpora, render, results::Results};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::args::Bench;

/// Set in the environment of a process that has mounts of its own.
const OWN_MOUNTS: &str = "LITH_BENCH_OWN_MOUNTS";

/// Lists suites, updates documents, or measures and writes the results.
pub(crate) fn run(request: &Bench) -> anyhow::Result<()> {
    if request.list {
        return list();
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
    let results = lith_bench::run(&request.options(has_own_mounts, stop)?, &say)?;
    write(&request.out, &results)?;
    print(&render::markdown(&results))
}

fn list() -> anyhow::Result<()> {
    let suites = lith_bench::list(&Corpora::default_names());
    let lines = suites.into_iter().map(|(name, title)| format!("{name:<14} {title}\n"));
    print(&lines.collect::<String>())
}

/// Rewrites the tables and pictures of documents.
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

fn write(folder: &Path, results: &Results) -> anyhow::Result<()> {
    let files = [
        ("results.json", render::json(results)?),
        ("results.md", render::markdown(results)),
        ("results.html", render::html(results)?),
    ];
    for (name, text) in files {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
