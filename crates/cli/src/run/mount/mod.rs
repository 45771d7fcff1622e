//! Who mounts an image: the kernel, or a server of ours?

mod daemon;
mod kernel;
mod memory;
mod server;

use std::{fs::File, io};

use anyhow::Context;

use crate::{
    args::mount::{Mount, Settings},
    exit::Outcome,
    output::error::Place,
};

/// Mounts an image.
pub(crate) fn run(request: &Mount) -> anyhow::Result<Outcome> {
    let settings = request.settings();
    if request.server {
        return server::run(request, &settings);
    }
    // Whoever mounts it, this is said best at once.
    let image = &request.image.image;
    File::open(image).with_context(|| format!("{}: cannot open", Place(image)))?;
    if request.kernel || (!request.fuse && !request.foreground) {
        match by_kernel(request, &settings)? {
            Choice::Mounted => return Ok(Outcome::Success),
            Choice::Fuse(reason) => say(request, &format!("by FUSE: {reason}")),
        }
    }
    if let Some(word) = settings.kernel.first() {
        anyhow::bail!("only the kernel's driver knows the mount option `{word}`");
    }
    if request.foreground {
        memory::bound_this();
        server::run(request, &settings)
    } else {
        daemon::run(request, &settings)
    }
}

/// Who is to mount.
enum Choice {
    /// The kernel did.
    Mounted,
    /// A server, for this reason.
    Fuse(String),
}

fn by_kernel(request: &Mount, settings: &Settings) -> anyhow::Result<Choice> {
    let refused = match settings.needs_fuse() {
        Some(word) => format!("the kernel's driver has no {word}"),
        None if !rustix::process::geteuid().is_root() => {
            "only root mounts by the kernel".to_owned()
        }
        None => match kernel::mount(request, settings) {
            Ok(how) => {
                say(request, &format!("by the kernel's EROFS, {how}"));
                return Ok(Choice::Mounted);
            }
            Err(error) => refusal(&error),
        },
    };
    if request.kernel {
        anyhow::bail!("{}: not mounted: {refused}", Place(&request.image.image));
    }
    Ok(Choice::Fuse(refused))
}

fn refusal(error: &io::Error) -> String {
    format!("the kernel doesn't mount it: {error}")
}

fn say(request: &Mount, how: &str) {
    if !request.quiet {
        eprintln!("lith: {}: {how}", Place(&request.image.image));
    }
}
