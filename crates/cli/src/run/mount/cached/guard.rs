//! The process that keeps readers of a mount waiting, whatever becomes of the one that fetches.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
};

use anyhow::Context;
use lith::remote::Kept;
use lith_fanotify::{Group, Guard, Start};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};

use super::mounting::{Mounting, arguments, named, panicked, put};
use crate::{
    args::mount::{Mount, Settings},
    exit::Outcome,
    output::error::Place,
    run::mount::{kernel::refusal, memory, server::leave_terminal},
};

/// Mounts an image from a file of the cache, and stays until nothing uses it any more or all of it is there
/// (`lith mount --guard`). Why it can't be mounted is written to standard output.
pub(in crate::run::mount) fn run(
    request: &Mount,
    settings: &Settings,
    file: &Path,
) -> anyhow::Result<Outcome> {
    rustix::thread::set_name(c"lith")?;
    // As long as this is open, nobody removes the file.
    let kept = Kept::hold(file).with_context(|| Place(file).to_string());
    let (kept, directory) = if request.again {
        // Whatever there is no more, readers have to be answered.
        (kept.ok(), request.directory.clone())
    } else {
        (Some(kept?), request.directory.canonicalize()?)
    };
    let mut worker = arguments(request, settings, ("--fetch", file));
    // This process leaves the directory that the path may be relative to.
    worker.pop();
    worker.push((&directory).into());
    if let Some(kept) = kept.as_ref().filter(|_| !request.again) {
        // It may be removed by hand, and another one made in its place.
        worker.splice(2..2, ["--inode".into(), named(kept.identity()?).into()]);
    }
    let start = starter(worker);
    let guard = if request.again {
        let group = Group::inherited(io::stdout().as_fd().try_clone_to_owned()?);
        let null = File::options().write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdout(&null)?;
        let guard = Guard::in_place_of_another(group, start)?;
        obey_signals(directory)?;
        guard
    } else {
        let mounting = Mounting::new(request, settings, file);
        match mount(mounting, start, (&directory, request.has_metadata)) {
            Ok(guard) => {
                obey_signals(directory)?;
                leave_terminal(&File::options().read(true).write(true).open("/dev/null")?)?;
                guard
            }
            Err(reason) => {
                let mut stdout = io::stdout();
                stdout.write_all(reason.as_bytes())?;
                stdout.flush()?;
                return Ok(Outcome::Reported);
            }
        }
    };
    guard.serve()?;
    drop(kept);
    Ok(Outcome::Success)
}

/// Mounts it while its reads are answered.
fn mount(
    mounting: Mounting,
    start: Box<Start>,
    (directory, has_metadata): (&Path, bool),
) -> Result<Guard, String> {
    let (watched, group) = mpsc::channel();
    let (done, mounted) = mpsc::channel();
    let first = mounting.first();
    let thread = move || {
        // Whoever waits for it sees the end of the thread.
        let _gone = done.send(mounting.run(Some(watched)));
    };
    let failed = |error: io::Error| refusal(&error);
    thread::Builder::new().name("mount".to_owned()).spawn(thread).map_err(failed)?;
    let Ok(group) = group.recv() else {
        let end = mounted.recv().unwrap_or_else(|_| Err(panicked()));
        return Err(end.err().map_or_else(|| refusal(&panicked()), |error| refusal(&error)));
    };
    let mut guard = Guard::new(group, start, first);
    let mount = guard.serve_until(&mounted).map_err(failed)?;
    let mount: OwnedFd = mount.unwrap_or_else(|| Err(panicked())).map_err(failed)?;
    if !guard.has_seen_first() && !has_metadata {
        return Err("this kernel doesn't tell when it reads metadata of a file".to_owned());
    }
    put(&mount, directory).map_err(failed)?;
    Ok(guard)
}

/// What starts workers.
fn starter(arguments: Vec<OsString>) -> Box<Start> {
    protect();
    Box::new(move |connection, group| {
        let mut command = Command::new("/proc/self/exe");
        command.arg0("lith").args(&arguments).current_dir("/").process_group(0);
        command.stdin(Stdio::from(connection)).stdout(Stdio::from(group)).stderr(Stdio::null());
        let child = memory::limit(&mut command).spawn()?;
        expose(&child);
        Ok(child)
    })
}

/// Keeps this process when memory is short: while its workers may be killed, readers wait for the next one.
fn protect() {
    // Without the right to, it is a process like any other.
    let _denied = fs::write("/proc/self/oom_score_adj", "-1000");
}

/// A worker is a process like any other.
fn expose(child: &Child) {
    let _dead = fs::write(format!("/proc/{}/oom_score_adj", child.id()), "0");
}

/// Unmounts on a signal. A mount that is in use is detached, and served until its last use has ended: without this process,
/// its readers would see zeros.
fn obey_signals(directory: PathBuf) -> io::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for _ in signals.forever() {
            if lith_fuse::unmount(&directory, false).is_err() {
                // Then it is no longer mounted there.
                let _gone = lith_fuse::unmount(&directory, true);
            }
        }
    })?;
    Ok(())
}
