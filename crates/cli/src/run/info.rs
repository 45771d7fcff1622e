//! Describes an image (`lith info`).

use std::{env, io::Write, sync::Arc};

use lith_report::{Facts, Options, Summary, census, gather};

use anyhow::Context;
use lith::{provenance::Provenance, reader::read_superblock};

use super::{
    presets,
    subject::{self, Subject},
};
use crate::{
    args::info::Info,
    exit::Outcome,
    output::{
        self,
        error::Place,
        info::{facts_text, superblock_text},
        json,
        provenance::provenance_text,
    },
};

pub(crate) fn run(request: &Info) -> anyhow::Result<Outcome> {
    if request.provenance {
        return provenance(request);
    }
    let subject = match Subject::open(&request.image) {
        Ok(subject) => subject,
        Err(error) => return Err(tell_superblock(request, error)),
    };
    let mut facts = gather_facts(&subject, request).inspect_err(|_damaged| {
        // What is sound is worth to be seen, and that it can't be printed is no worse than the damage.
        let summary = Facts::new(Summary::new(&subject.image), None);
        let _ = output::stdout().map(|mut output| write(request, &summary, &mut output));
    })?;
    if request.presets {
        let image = Arc::new(subject.image);
        facts.presets = Some(presets::estimate(&image, &facts, &env::temp_dir())?);
    }
    let mut output = output::stdout()?;
    write(request, &facts, &mut output)?;
    output::finish(output)
}

fn write(request: &Info, facts: &Facts, output: &mut dyn Write) -> anyhow::Result<()> {
    if request.json {
        json::write_pretty(output, facts)?;
    } else {
        facts_text(output, facts)?;
    }
    Ok(output.flush()?)
}

/// Prints how an image was made.
fn provenance(request: &Info) -> anyhow::Result<Outcome> {
    let devices = subject::devices(&request.image)?;
    let found = Provenance::read(devices.first().context("an image has a device")?);
    let found = found.with_context(|| Place(&request.image.image).to_string())?;
    let mut output = output::stdout()?;
    if request.json {
        json::write_pretty(&mut output, &found)?;
    } else {
        provenance_text(&mut output, &found)?;
    }
    output::finish(output)
}

/// Prints what the superblock of an image says that can't be opened, as text, and returns why it can't be.
fn tell_superblock(request: &Info, error: anyhow::Error) -> anyhow::Error {
    if request.json {
        return error;
    }
    let device =
        subject::devices(&request.image).ok().and_then(|devices| devices.into_iter().next());
    let superblock = device.and_then(|device| {
        let superblock = read_superblock(&*device, false).ok()?;
        Some((superblock, device.size()))
    });
    if let Some((superblock, bytes)) = superblock {
        let _ = output::stdout().and_then(|mut output| {
            superblock_text(&mut output, &superblock, bytes)?;
            output.flush()
        });
    }
    error
}

fn gather_facts(subject: &Subject<'_>, request: &Info) -> anyhow::Result<Facts> {
    let image = &subject.image;
    if request.all {
        let mut options = Options::default();
        options.equal_files = request.equal_files;
        return gather(image, options).map_err(|error| subject.failed(error));
    }
    let counted = (!request.superblock).then(|| census(image)).transpose();
    let contents = counted.map_err(|error| subject.failed(error))?;
    Ok(Facts::new(Summary::new(image), contents))
}
