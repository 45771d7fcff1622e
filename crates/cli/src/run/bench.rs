//! Replaces this process by `lith-bench`, which compares lith with other filesystems (`lith bench`).

use std::{
    convert::Infallible,
    env, io,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Context;

use crate::{args::bench::Bench, output::error::Place};

const PROGRAM: &str = "lith-bench";

/// Executes the program; returns only if that fails.
pub(crate) fn run(request: &Bench) -> anyhow::Result<Infallible> {
    let lith = env::current_exe().context("cannot find this program")?;
    for program in [lith.with_file_name(PROGRAM), PathBuf::from(PROGRAM)] {
        let mut command = Command::new(&program);
        command.arg("--lith").arg(&lith).args(&request.arguments);
        let error = lith_system::become_program(&mut command);
        if error.kind() != io::ErrorKind::NotFound {
            return Err(error).with_context(|| format!("{}: cannot execute", Place(&program)));
        }
    }
    let folder = lith.parent().unwrap_or(Path::new("/"));
    anyhow::bail!(
        "{PROGRAM} is neither in {} nor in the PATH; `cargo build --release` makes it beside lith",
        Place(folder)
    )
}
