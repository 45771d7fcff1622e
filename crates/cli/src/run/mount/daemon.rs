//! How is a server started that stays in the background?

use std::{
    io::Read,
    process::{Command, Stdio},
};

use anyhow::Context;

use crate::{
    args::mount::{Mount, Settings},
    exit::Outcome,
    output::error::Place,
    run::mount::memory,
};

/// Starts a server, and returns when its mount answers. If it fails, it has said why itself.
pub(crate) fn run(request: &Mount, settings: &Settings) -> anyhow::Result<Outcome> {
    let mut command = Command::new("/proc/self/exe");
    command.args(request.server_words(settings)).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut server = memory::bound(&mut command).spawn().context("cannot start the server")?;
    let mut word = [0];
    let told = server.stdout.take().map(|mut stdout| stdout.read_exact(&mut word));
    if !matches!(told, Some(Ok(()))) {
        server.wait()?;
        return Ok(Outcome::Told);
    }
    let answer = rustix::fs::statvfs(&request.directory);
    answer.with_context(|| format!("{}: the mount doesn't answer", Place(&request.directory)))?;
    Ok(Outcome::Success)
}
