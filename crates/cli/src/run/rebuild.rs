//! Makes an image again of its source, and compares (`lith rebuild`).

use std::{io::Write, path::Path};

use anyhow::Context;
use lith::{
    device::{FileDevice, ReadAt},
    observer::Progress,
    provenance::Provenance,
    tree::{self, Difference},
};

use super::{
    build, subject,
    trees::{everything, open_at, open_with},
};
use crate::{
    args::{MessageArgs, build::Build, common::workers, location::Location, rebuild::Rebuild},
    exit::Outcome,
    output::{self, error::Place},
};

/// Bytes that are compared at once.
const STEP: usize = 1 << 20;

pub(crate) fn run(request: &Rebuild, messages: MessageArgs) -> anyhow::Result<Outcome> {
    let image = request.image.image.as_path();
    let place = || Place(image).to_string();
    let devices = subject::devices(&request.image)?;
    let old = devices.first().context("an image has a device")?;
    let recorded = Provenance::read(old).with_context(place)?;
    // What is made is dropped unless a file is named for it.
    let folder = tempfile::Builder::new().prefix("lith-rebuild-").tempdir()?;
    let path = request.output.clone().unwrap_or_else(|| folder.path().join("image"));
    let build = Build::again(&recorded.recipe, (&request.sources, &request.files), &path);
    let mut build = build.map_err(anyhow::Error::msg).with_context(place)?;
    build.search = request.image.devices.search();
    build.work.workers = workers(request.workers);
    (build.work.verify, build.work.force) = (!request.check, request.force);
    build::make(|| Ok(build.builder()), &path, !messages.quiet)?;
    let new = FileDevice::open(&path).with_context(|| Place(&path).to_string())?;
    let difference = first_difference(old, &new).with_context(place)?;
    let Some(at) = difference else {
        return tell(messages, &format!("{}: every byte is the same", place()), Outcome::Success);
    };
    let made = Provenance::read(&new).with_context(|| Place(&path).to_string())?;
    let reason = match (made.tree == recorded.tree, recorded.has_our_layout()) {
        (false, _) => first_path(request, &path)?.map(|difference| difference.to_string()),
        (true, false) => Some(format!(
            "{} made it, whose images look different: layout {} instead of {}",
            recorded.tool, recorded.layout, made.layout
        )),
        (true, true) => None,
    };
    let reason = reason.unwrap_or_else(|| format!("byte {at} differs; all files are equal"));
    tell(messages, &format!("{}: not the same: {reason}", place()), Outcome::Different)
}

fn tell(messages: MessageArgs, line: &str, outcome: Outcome) -> anyhow::Result<Outcome> {
    if messages.quiet {
        return Ok(outcome);
    }
    let mut output = output::stdout()?;
    writeln!(output, "{line}")?;
    output::finish(output).map(|_success| outcome)
}

/// The first byte in which two devices differ, if it is only that one has more.
fn first_difference(old: &dyn ReadAt, new: &dyn ReadAt) -> anyhow::Result<Option<u64>> {
    let common = old.size().min(new.size());
    let (mut left, mut right) = (vec![0; STEP], vec![0; STEP]);
    let mut at = 0;
    while at < common {
        let now = usize::try_from(common - at).unwrap_or(STEP).min(STEP);
        let (left, right) = (left.split_at_mut(now).0, right.split_at_mut(now).0);
        old.read_at(left, at)?;
        new.read_at(right, at)?;
        let differs = left.iter().zip(&*right).position(|(left, right)| left != right);
        if let Some(differs) = differs {
            return Ok(Some(at + differs as u64));
        }
        at += now as u64;
    }
    Ok((old.size() != new.size()).then_some(common))
}

/// The first difference between the files of the image and those of the new one.
fn first_path(request: &Rebuild, new: &Path) -> anyhow::Result<Option<Difference>> {
    let options = everything();
    let old = open_at(&request.image, &options)?;
    let location = Location::new(new, request.image.devices.search());
    let new = open_with(&location, &options, lith::reader::Options::default())?;
    let (progress, mut first) = (Progress::default(), None);
    let compared = tree::diff(
        old.filesystem(),
        new.filesystem(),
        &tree::DiffOptions::default(),
        &progress,
        &mut |difference| {
            first.get_or_insert(difference);
            progress.cancel();
        },
    );
    match first {
        Some(difference) => Ok(Some(difference)),
        None => Ok(compared.map(|()| None)?),
    }
}
