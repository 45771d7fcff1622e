//! Mounts images on web servers by the kernel's driver, from the files of the cache.
//!
//! What isn't in the cache yet is fetched when the driver reads it: see the crate `fanotify`.

mod guard;
mod metadata;
mod mounting;
mod worker;

use std::{
    io::{self, Read},
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, Stdio},
    thread,
};

use lith::remote::Kept;

pub(super) use guard::run as guard;
pub(super) use worker::run as fetch;

use super::{kernel::refusal, memory};
use crate::{
    args::mount::{Mount, Settings},
    output::error::one_line,
    run::remote,
};
use mounting::{Mounting, arguments, panicked, put};

/// How it is mounted if all of it is there, and otherwise.
const COMPLETE: &str = "from the cache, which is complete";
const FILLED: &str = "from the cache, which is filled as it is read";

/// Mounts an image that is open, and returns from what; or why the kernel doesn't.
pub(super) fn mount(request: &Mount, settings: &Settings) -> Result<&'static str, String> {
    let settings = &absolute(settings).map_err(|error| refusal(&error))?;
    if settings.loop_device {
        return Err("a loop device takes no image from a server".to_owned());
    }
    let further = remote::further(&request.image.image).map_err(|error| one_line(&*error))?;
    if further.is_some() {
        return Err("the bases of a patch in a registry are in no file".to_owned());
    }
    let file = remote::kept(&request.image.image).ok_or("no cache keeps it")?;
    let kept = Kept::hold(&file).map_err(|error| refusal(&error))?;
    let mounting = Mounting::new(request, settings, &file);
    if kept.is_complete() {
        let mounting = thread::Builder::new().spawn(move || mounting.run(None));
        let joined = mounting.map(thread::JoinHandle::join);
        let mounted = joined.and_then(|end| end.unwrap_or_else(|_| Err(panicked())));
        let shown = mounted.and_then(|mount| put(&mount, &request.directory));
        return shown.map(|()| COMPLETE).map_err(|error| refusal(&error));
    }
    let reports = mounting.reports_metadata();
    let none = |error| format!("it has no events before a file is read: {error}");
    let has_metadata = if reports.map_err(none)? {
        false
    } else {
        metadata::fetch(request, settings).map_err(|error| one_line(&*error))?;
        true
    };
    start(request, settings, &file, has_metadata).map(|()| FILLED)
}

/// Starts a guard, and returns when it has mounted the image.
fn start(
    request: &Mount,
    settings: &Settings,
    file: &Path,
    has_metadata: bool,
) -> Result<(), String> {
    let failed = |error: io::Error| format!("cannot start the server: {error}");
    let mut command = Command::new("/proc/self/exe");
    let mut arguments = arguments(request, settings, ("--guard", file));
    if has_metadata {
        arguments.insert(2, "--has-metadata".into());
    }
    command.arg0("lith").args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut guard = memory::limit(&mut command).spawn().map_err(failed)?;
    let mut report = String::new();
    if let Some(mut stdout) = guard.stdout.take() {
        stdout.read_to_string(&mut report).map_err(failed)?;
    }
    if report == "\n" {
        return Ok(());
    }
    let _status = guard.wait();
    Err(if report.is_empty() { "the server ended".to_owned() } else { report })
}

/// The same settings for a process with another working directory.
fn absolute(settings: &Settings) -> io::Result<Settings> {
    let mut settings = settings.clone();
    let search = &mut settings.devices;
    for path in search.devices.iter_mut().chain(&mut search.directories) {
        *path = path.canonicalize()?;
    }
    Ok(settings)
}
