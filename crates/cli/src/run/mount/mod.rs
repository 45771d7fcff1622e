//! Who mounts an image: the kernel, or a FUSE server? Mounts it by the first that can (`lith mount`).

#[cfg(feature = "remote")]
mod cached;
mod confine;
mod daemon;
pub(super) mod kernel;
mod memory;
mod prefetch;
mod present;
mod server;

use std::{borrow::Cow, fs, io, path::Path};

use lith::bases;
use serde::Serialize;

use crate::{
    args::mount::{Mount, Settings},
    exit::Outcome,
    output::{
        self,
        address::{is_address, shown},
        error::{Place, tell},
        json,
    },
    run::{remote, subject},
};

pub(crate) fn run(request: &Mount) -> anyhow::Result<Outcome> {
    let mut settings = request.settings();
    if let Some(own) = run_as_child(request, &settings) {
        return own;
    }
    if request.foreground {
        memory::limit_this();
    }
    // Checked first, because the errors of the kernel and of a server are less clear.
    let image = &request.image.image;
    if image == Path::new("-") {
        refuse_on_stdin(request, &settings)?;
        return by_server(request, &settings, "standard input is read once");
    }
    // Kept open, as it is a request to open it again.
    let mut primary = None;
    let devices = if request.image.trust.root_hash.is_some() {
        refuse_unverified(request, &settings)?;
        // The server finds them in what it has verified.
        Vec::new()
    } else {
        let primary = &*primary.insert(subject::primary(&request.location(&settings))?);
        let is_complete = settings.devices.devices.is_empty() && remote::further(image)?.is_some();
        // The kernel takes them in the order of the device table, and doesn't look whether they are the right ones.
        if is_complete {
            Vec::new()
        } else {
            bases::find_for(&**primary, image, &settings.devices)?
        }
    };
    if settings.passthrough && is_address(image) {
        anyhow::bail!("{}: passthrough is for images in files", Place(image));
    }
    if present::is_mounted(image, &request.directory) {
        anyhow::bail!("{}: {} is mounted there already", Place(&request.directory), Place(image));
    }
    refuse_no_directory(&request.directory)?;
    settings.opened = remote::opened_as(image).filter(|_| primary.is_some());
    if !devices.is_empty() {
        settings.devices.devices = devices.into_iter().map(|found| found.path).collect();
    }
    let skips_kernel = request.fuse || request.foreground;
    let ahead = (skips_kernel || kernel::reads_memory(request, &settings))
        && !is_address(image)
        && prefetch::start(request, &settings);
    let mut by_fuse = "as requested".to_owned();
    if request.kernel || !skips_kernel {
        match by_kernel(request, &settings, ahead)? {
            Choice::Mounted(how) => return show(request, "kernel", how),
            Choice::Fuse(reason) if request.json => by_fuse = reason,
            Choice::Fuse(reason) => print(request, &format!("by FUSE: {reason}")),
        }
    }
    by_server(request, &settings, &by_fuse)
}

/// Mounts an image by FUSE, for a reason that is shown.
fn by_server(request: &Mount, settings: &Settings, reason: &str) -> anyhow::Result<Outcome> {
    if let Some(option) = settings.kernel.first() {
        anyhow::bail!("the mount option `{option}` is for the kernel's driver only");
    }
    if request.foreground {
        return server::run(request, settings);
    }
    let outcome = daemon::run(request, settings)?;
    if request.json && outcome == Outcome::Success {
        return show(request, "fuse", reason);
    }
    Ok(outcome)
}

/// What a process does that another one of this program started for a mount.
fn run_as_child(request: &Mount, settings: &Settings) -> Option<anyhow::Result<Outcome>> {
    if request.server {
        return Some(server::run(request, settings));
    }
    if request.read_ahead {
        return Some(prefetch::run(request, settings));
    }
    #[cfg(feature = "remote")]
    if let Some(file) = &request.object {
        return Some(if request.fetch {
            cached::fetch(request, settings, file)
        } else {
            cached::guard(request, settings, file)
        });
    }
    None
}

/// Refuses a path at which nothing can be mounted. A dead mount can't be looked at, but mounted upon.
fn refuse_no_directory(directory: &Path) -> anyhow::Result<()> {
    let problem = match fs::metadata(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => error,
        Ok(found) if !found.is_dir() => io::ErrorKind::NotADirectory.into(),
        _ => return Ok(()),
    };
    Err(anyhow::Error::new(problem).context(format!("{}: cannot mount", Place(directory))))
}

/// Refuses what needs an image that can be opened more than once.
fn refuse_on_stdin(request: &Mount, settings: &Settings) -> anyhow::Result<()> {
    let option = [
        (request.kernel, "--kernel"),
        (request.image.trust.root_hash.is_some(), "--root-hash"),
        (settings.passthrough, "passthrough"),
        (settings.offset > 0, "offset"),
    ];
    match option.into_iter().find(|(is_set, _)| *is_set) {
        Some((_, option)) => {
            anyhow::bail!("-: standard input is read once, not with {option}; save it to a file")
        }
        None => Ok(()),
    }
}

/// Refuses what would serve bytes that aren't verified.
fn refuse_unverified(request: &Mount, settings: &Settings) -> anyhow::Result<()> {
    let place = Place(&request.image.image);
    if request.kernel {
        anyhow::bail!(
            "{place}: the kernel's driver verifies nothing: `veritysetup open` makes a device that does"
        );
    }
    if settings.passthrough {
        anyhow::bail!("{place}: with passthrough, what the kernel reads itself is not verified");
    }
    Ok(())
}

enum Choice {
    Mounted(&'static str),
    Fuse(String),
}

fn by_kernel(request: &Mount, settings: &Settings, ahead: bool) -> anyhow::Result<Choice> {
    let refused = match settings.needs_fuse() {
        Some(option) => format!("the kernel's driver has no {option}"),
        None if request.image.trust.root_hash.is_some() => {
            "the kernel's driver verifies nothing".to_owned()
        }
        None if !rustix::process::geteuid().is_root() => {
            "only root mounts by the kernel".to_owned()
        }
        None => match mount(request, settings, ahead) {
            Ok(how) => {
                if !request.json {
                    print(request, &format!("by the kernel's EROFS, {how}"));
                }
                return Ok(Choice::Mounted(how));
            }
            Err(refused) => refused,
        },
    };
    if request.kernel {
        anyhow::bail!("{}: not mounted: {refused}", Place(&request.image.image));
    }
    Ok(Choice::Fuse(refused))
}

/// Mounts it by the kernel, or returns why that can't be.
fn mount(request: &Mount, settings: &Settings, ahead: bool) -> Result<&'static str, String> {
    #[cfg(feature = "remote")]
    if is_address(&request.image.image) {
        return cached::mount(request, settings);
    }
    kernel::mount(request, settings, ahead).map_err(|error| kernel::refusal(&error))
}

/// What mounts an image, for programs.
#[derive(Serialize)]
struct Record<'a> {
    image: Cow<'a, str>,
    directory: Cow<'a, str>,
    driver: &'static str,
    /// What the kernel mounts, or why the kernel doesn't.
    how: &'a str,
}

/// Ends a mount, which is shown to programs if they asked for it.
fn show(request: &Mount, driver: &'static str, how: &str) -> anyhow::Result<Outcome> {
    if !request.json {
        return Ok(Outcome::Success);
    }
    let (image, directory) = (&request.image.image, &request.directory);
    let image = shown(image);
    let (image, directory) = (image.to_string_lossy(), directory.to_string_lossy());
    let mut output = output::stdout()?;
    json::write_pretty(&mut output, &Record { image, directory, driver, how })?;
    output::finish(output)
}

fn print(request: &Mount, how: &str) {
    if !request.quiet {
        tell(format_args!("lith: {}: {how}", Place(&request.image.image)));
    }
}
