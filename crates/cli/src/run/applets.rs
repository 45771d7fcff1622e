//! How do links come to lead here by the names of other programs?

use std::{
    env, fs, io,
    io::Write,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use anyhow::Context;

use crate::{
    applets::Applet,
    args::applets::Applets,
    exit::Outcome,
    output::{self, error::Place},
};

/// Lists the names, or makes links.
pub(crate) fn run(request: &Applets) -> anyhow::Result<Outcome> {
    let Some(directory) = &request.install else {
        let mut output = output::stdout()?;
        Applet::NAMES.iter().try_for_each(|(name, _)| writeln!(output, "{name}"))?;
        output.flush()?;
        return Ok(Outcome::Success);
    };
    let target = match &request.target {
        Some(target) => target.clone(),
        None => env::current_exe().context("cannot tell where this program lies")?,
    };
    fs::create_dir_all(directory).with_context(|| format!("{}: cannot make", Place(directory)))?;
    let links: Vec<PathBuf> = Applet::NAMES.iter().map(|(name, _)| directory.join(name)).collect();
    if !request.force {
        links.iter().try_for_each(|link| check_free(link, &target))?;
    }
    for link in &links {
        replace(link, &target).with_context(|| format!("{}: cannot link", Place(link)))?;
    }
    Ok(Outcome::Success)
}

/// Refuses to replace what isn't such a link already.
fn check_free(link: &Path, target: &Path) -> anyhow::Result<()> {
    match link.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        _ if fs::read_link(link).is_ok_and(|old| old == target) => Ok(()),
        _ => anyhow::bail!("{}: exists already; --force replaces it", Place(link)),
    }
}

/// Makes a link, which takes its name at once if something has that.
fn replace(link: &Path, target: &Path) -> io::Result<()> {
    let mut new = link.as_os_str().to_owned();
    new.push(".new");
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => symlink(target, &new)?,
    }
    fs::rename(&new, link)
}
