//! How is lith compared with others, and where does the outcome go?

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

use crate::{args::bench::Bench, exit::Outcome, output};

/// Set in the environment of a process that has mounts of its own.
const OWN_MOUNTS: &str = "LITH_BENCH_OWN_MOUNTS";

/// Measures, and writes what came out.
pub(crate) fn run(request: &Bench) -> anyhow::Result<Outcome> {
    let mut output = output::stdout()?;
    if request.list {
        for (name, title) in lith_bench::list(&Corpora::default_names()) {
            writeln!(output, "{name:<14} {title}")?;
        }
        output.flush()?;
        return Ok(Outcome::Success);
    }
    if !request.update.is_empty() {
        for document in &request.update {
            let changed = render::documents::update(document, &request.results)?;
            let what = if changed { "changed" } else { "as the results say" };
            writeln!(output, "{}: {what}", document.display())?;
        }
        output.flush()?;
        return Ok(Outcome::Success);
    }
    let has_own_mounts = env::var_os(OWN_MOUNTS).is_some();
    if !has_own_mounts && rustix::process::geteuid().is_root() {
        enter_own_mounts();
    }
    fs::create_dir_all(&request.out)
        .with_context(|| format!("cannot create {}", request.out.display()))?;
    let say = |text: &str| {
        // That nobody reads it must not end hours of work.
        let _unread = writeln!(io::stderr(), "{text}");
    };
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .context("cannot wait for signals")?;
    }
    let results = lith_bench::run(&request.options(has_own_mounts, stop)?, &say)?;
    write(&request.out, &results)?;
    output.write_all(render::markdown(&results).as_bytes())?;
    output.flush()?;
    Ok(Outcome::Success)
}

/// Starts over in a mount namespace of its own, so that nothing it mounts outlives it. Where that can't be done it goes
/// on without.
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
