//! Describes an image (`lith info`).

use std::{env, sync::Arc};

use lith_report::{Facts, Options, Summary, census, gather};

use super::{presets, subject::Subject};
use crate::{
    args::info::Info,
    exit::Outcome,
    output::{self, info::facts_text, json},
};

pub(crate) fn run(request: &Info) -> anyhow::Result<Outcome> {
    let subject = Subject::open(&request.image)?;
    let mut facts = gather_facts(&subject, request)?;
    if request.presets {
        let image = Arc::new(subject.image);
        facts.presets = Some(presets::estimate(&image, &facts, &env::temp_dir())?);
    }
    let mut output = output::stdout()?;
    if request.json {
        json::write_pretty(&mut output, &facts)?;
    } else {
        facts_text(&mut output, &facts)?;
    }
    output::finish(output)
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
