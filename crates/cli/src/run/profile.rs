//! Merges profiles, and shows what one means for an image (`lith profile`).

use std::{borrow::Cow, io::Write, path::Path};

use anyhow::Context;
use lith::profile::{self, FirstReads, Locations, Profile, Weighted, merge};
use lith_report::number::{Bytes, Count};
use serde::Serialize;

use super::subject::Subject;
use crate::{
    args::{
        common::ImageArgs,
        order::read_profile,
        profile::{Merge, Show, Verb},
    },
    exit::Outcome,
    output::{self, error::Place, json, target::Target},
};

pub(crate) fn run(verb: &Verb) -> anyhow::Result<Outcome> {
    match verb {
        Verb::Merge(request) => merge_all(request),
        Verb::Show(request) => show(request),
    }
}

/// Where a profile is written to.
pub(super) enum Destination<'a> {
    StandardOutput,
    File(Target, &'a Path),
}

impl<'a> Destination<'a> {
    /// The file at a path, or standard output (`-`). What is in the file stays until the profile is complete.
    pub(super) fn create(path: &'a Path) -> anyhow::Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::StandardOutput);
        }
        let target = Target::create_unwatched(path).with_context(|| Place(path).to_string())?;
        Ok(Self::File(target, path))
    }

    pub(super) fn write(self, profile: &Profile) -> anyhow::Result<()> {
        match self {
            Self::StandardOutput => {
                let mut output = output::stdout()?;
                write!(output, "{profile}")?;
                output::finish(output).map(drop)
            }
            Self::File(mut target, path) => {
                let written = write!(target, "{profile}").and_then(|()| target.commit());
                written.with_context(|| Place(path).to_string())
            }
        }
    }
}

fn merge_all(request: &Merge) -> anyhow::Result<Outcome> {
    let read = |path: &Path| read_profile(path).map_err(anyhow::Error::msg);
    let profiles: Vec<_> =
        request.profiles.iter().map(|file| read(&file.path)).collect::<Result<_, _>>()?;
    let weights = request.profiles.iter().map(|file| file.weight);
    let weighted =
        profiles.iter().zip(weights).map(|(profile, weight)| Weighted { profile, weight });
    Destination::create(&request.output)?.write(&merge(&weighted.collect::<Vec<_>>()))?;
    Ok(Outcome::Success)
}

/// What is shown of an image.
#[derive(Serialize)]
struct Record<'a> {
    image: Cow<'a, str>,
    image_bytes: u64,
    used_bytes: u64,
    stored_bytes: u64,
    requests: u64,
    seeks: u64,
    seek_bytes: u64,
    ahead_requests: u64,
    ahead_bytes: u64,
    missing: u64,
}

/// What `profile show --json` prints.
#[derive(Serialize)]
struct Shown<'a> {
    images: &'a [Record<'a>],
}

fn show(request: &Show) -> anyhow::Result<Outcome> {
    let profile = read_profile(&request.profile).map_err(anyhow::Error::msg)?;
    let other = request.beside.clone().map(ImageArgs::new);
    let images = [&request.image].into_iter().chain(&other);
    let records: Vec<_> =
        images.map(|image| record(image, &profile)).collect::<anyhow::Result<_>>()?;
    let mut output = output::stdout()?;
    if request.json {
        json::write_pretty(&mut output, &Shown { images: &records })?;
    } else {
        table(&records, &mut output)?;
    }
    output::finish(output)
}

fn record<'a>(image: &'a ImageArgs, profile: &Profile) -> anyhow::Result<Record<'a>> {
    let subject = Subject::open(image)?;
    let found = reads_of(&subject, profile)?;
    let superblock = subject.image.superblock();
    let image_bytes = superblock.blocks.saturating_mul(superblock.block.size().into());
    Ok(Record {
        image: image.image.to_string_lossy(),
        image_bytes,
        used_bytes: found.used,
        stored_bytes: found.stored(),
        requests: found.requests(),
        seeks: found.seeks(),
        seek_bytes: found.distance(),
        ahead_requests: found.ahead_requests,
        ahead_bytes: found.ahead_bytes,
        missing: found.missing,
    })
}

/// What of an image is read first, by a profile in a file.
pub(super) fn first_reads(subject: &Subject<'_>, profile: &Path) -> anyhow::Result<FirstReads> {
    let profile = read_profile(profile).map_err(anyhow::Error::msg)?;
    reads_of(subject, &profile)
}

fn reads_of(subject: &Subject<'_>, profile: &Profile) -> anyhow::Result<FirstReads> {
    let locations = Locations::new(&subject.image).map_err(|error| subject.failed(error))?;
    Ok(profile::first_reads(profile, &locations))
}

fn table(records: &[Record<'_>], output: &mut dyn Write) -> anyhow::Result<()> {
    type Row = (&'static str, fn(&Record<'_>) -> String);
    let rows: [Row; 9] = [
        ("image", |record| Bytes(record.image_bytes).to_string()),
        ("used of files", |record| Bytes(record.used_bytes).to_string()),
        ("stored of that", |record| Bytes(record.stored_bytes).to_string()),
        ("requests", |record| record.requests.to_string()),
        ("seeks", |record| record.seeks.to_string()),
        ("  over", |record| Bytes(record.seek_bytes).to_string()),
        ("with read-ahead: requests", |record| record.ahead_requests.to_string()),
        ("  bytes", |record| Bytes(record.ahead_bytes).to_string()),
        ("not in the image", |record| Count(record.missing, "path").to_string()),
    ];
    for (name, cell) in rows {
        write!(output, "{name:<26}")?;
        for record in records {
            write!(output, " {:>14}", cell(record))?;
        }
        writeln!(output)?;
    }
    Ok(())
}
