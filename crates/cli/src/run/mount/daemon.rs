//! Starts a FUSE server in the background.

use std::{
    io::Read,
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::Context;

use crate::{
    args::mount::{Mount, Settings},
    exit::Outcome,
    output::error::Place,
    run::mount::memory,
};

/// Starts a server and returns when its mount answers. A server that fails has printed its error.
pub(crate) fn run(request: &Mount, settings: &Settings) -> anyhow::Result<Outcome> {
    let is_stdin = request.image.image == Path::new("-");
    let mut command = Command::new("/proc/self/exe");
    command.arg0("lith");
    command
        .args(request.arguments("--server", settings))
        .stdin(if is_stdin { Stdio::inherit() } else { Stdio::null() })
        .stdout(Stdio::piped());
    let mut server = memory::limit(&mut command).spawn().context("cannot start the server")?;
    // The server writes one byte when it has mounted.
    let mut byte = [0];
    let is_mounted = server.stdout.take().map(|mut stdout| stdout.read_exact(&mut byte));
    if !matches!(is_mounted, Some(Ok(()))) {
        server.wait()?;
        return Ok(Outcome::Reported);
    }
    let answer = rustix::fs::statvfs(&request.directory);
    answer.with_context(|| format!("{}: the mount doesn't answer", Place(&request.directory)))?;
    Ok(Outcome::Success)
}
