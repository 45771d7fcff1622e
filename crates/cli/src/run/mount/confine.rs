//! What does a server still need once it is mounted? Takes everything else from it.

use std::path::{Path, PathBuf};

use anyhow::Context;
use lith_fuse::{Enforced, Sandbox};

use crate::{
    args::mount::{Mount, Settings},
    output::{
        address::is_address,
        error::{Place, tell},
    },
    run::remote,
};

/// The sandbox in which an image is served: its files are read, and written are only those of a cache and of passthrough.
pub(super) fn sandbox(request: &Mount, settings: &Settings) -> Sandbox {
    let mut sandbox = Sandbox::default();
    let location = request.location(settings);
    let tree = location.trust.as_ref().and_then(|trust| trust.tree.as_deref());
    let devices = location.search.devices.iter().map(PathBuf::as_path);
    for path in [location.path].into_iter().chain(tree).chain(devices) {
        if is_address(path) {
            sandbox.network = true;
        } else if path != Path::new("-") {
            sandbox.read.push(path.to_owned());
        }
    }
    if location.trust.is_some() {
        // The server looks for the bases itself, beside the image.
        sandbox.read.extend(folder_of(location.path));
    }
    sandbox.read.extend(location.search.directories.iter().cloned());
    if sandbox.network {
        sandbox.write.extend(remote::folders(&location.keep));
    }
    if settings.passthrough {
        sandbox.write.extend(folder_of(location.path));
    }
    sandbox
}

fn folder_of(path: &Path) -> Option<PathBuf> {
    if is_address(path) {
        return None;
    }
    let folder = path.parent()?;
    Some(if folder.as_os_str().is_empty() { ".".into() } else { folder.to_owned() })
}

/// Removes what is below a directory, where there is going to be a mount: to look for it would be a request to the server.
/// Returns whether there is anything.
pub(super) fn remove_below(sandbox: &mut Sandbox, directory: &Path) -> bool {
    let Ok(directory) = directory.canonicalize() else { return false };
    let is_outside =
        |path: &PathBuf| !path.canonicalize().is_ok_and(|path| path.starts_with(&directory));
    let before = sandbox.read.len() + sandbox.write.len();
    sandbox.read.retain(is_outside);
    sandbox.write.retain(is_outside);
    before > sandbox.read.len() + sandbox.write.len()
}

/// Enters it. That the kernel lacks a part is no error.
pub(super) fn enter(sandbox: &Sandbox, request: &Mount) -> anyhow::Result<()> {
    let entered =
        sandbox.enter().context("cannot enter the sandbox; --no-sandbox serves without")?;
    let Enforced { files, calls, .. } = entered;
    if request.verbose {
        let place = Place(&request.image.image);
        let lacks = [(files, "Landlock: files"), (calls, "seccomp: system calls")];
        for (_, what) in lacks.iter().filter(|(is_enforced, _)| !is_enforced) {
            tell(format_args!("lith: {place}: the kernel has no {what} are not restricted"));
        }
    }
    Ok(())
}
