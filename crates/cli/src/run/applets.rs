//! Lists the names of the applets or links them to this program (`lith applets`).

use std::{
    env, fs, io,
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::Context;

use crate::{
    args::applets::Applets,
    exit::Outcome,
    output::{self, error::Place},
};

/// Lists `names`, or makes symbolic links with these names.
pub(crate) fn run(
    request: &Applets,
    mut names: impl Iterator<Item = &'static str>,
) -> anyhow::Result<Outcome> {
    let Some(directory) = &request.install else {
        let mut output = output::stdout()?;
        names.try_for_each(|name| writeln!(output, "{name}"))?;
        return output::finish(output);
    };
    let target = match &request.target {
        Some(target) => target.clone(),
        None => env::current_exe().context("cannot find this program's file")?,
    };
    fs::create_dir_all(directory)
        .with_context(|| format!("{}: cannot create", Place(directory)))?;
    let links: Vec<PathBuf> = names.map(|name| directory.join(name)).collect();
    if !request.force {
        links.iter().try_for_each(|link| check_free(link, &target))?;
    }
    for link in &links {
        replace(link, &target).with_context(|| format!("{}: cannot link", Place(link)))?;
    }
    Ok(Outcome::Success)
}

/// Refuses to replace anything but a link that leads to `target` already.
fn check_free(link: &Path, target: &Path) -> anyhow::Result<()> {
    match link.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        _ if fs::read_link(link).is_ok_and(|old| old == target) => Ok(()),
        _ => anyhow::bail!("{}: exists already; --force replaces it", Place(link)),
    }
}

/// Makes a link, and replaces by it atomically what has its name.
fn replace(link: &Path, target: &Path) -> io::Result<()> {
    let mut new = link.as_os_str().to_owned();
    new.push(".new");
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => lith_system::symlink(target.as_os_str().as_encoded_bytes(), Path::new(&new))?,
    }
    fs::rename(&new, link)
}
