//! Converts an image to a tar (`lith tar`).

use std::io::{self, IsTerminal, Write};

use anyhow::Context;
use lith::{
    export::{self, Selection},
    source::Source,
};

use super::{paths, subject::Subject, trees};
use crate::{
    args::tar::Tar,
    exit::Outcome,
    output::{self, error::Place, progress::Bar, skips::Skips, target::Target},
};

pub(crate) fn run(request: &Tar) -> anyhow::Result<Outcome> {
    if request.output.is_none() && io::stdout().is_terminal() {
        anyhow::bail!("a tar is not written to a terminal; redirect it, or name a file with -o");
    }
    let subject = Subject::open(&request.image)?;
    let paths = paths::requested(&subject, &request.paths, |_any| true)?;
    let source = trees::of_image(subject)?;
    let selection = trees::select(&source, &request.image.image, &paths)?;
    let skips = Skips::default();
    let result = write(request, &source, &selection, &skips);
    if !request.quiet {
        skips.print("lith");
    }
    result?;
    Ok(Outcome::Success)
}

fn write(
    request: &Tar,
    source: &Source,
    selection: &Selection,
    skips: &Skips,
) -> anyhow::Result<()> {
    let _bar = Bar::new(!request.quiet, skips.progress());
    let fs = source.filesystem();
    let Some(path) = &request.output else {
        let mut output = output::stdout()?;
        export::write_tar(fs, selection, &mut output, skips)?;
        return Ok(output.flush()?);
    };
    let mut target =
        Target::create(path).with_context(|| format!("{}: cannot create", Place(path)))?;
    let written = export::write_tar(fs, selection, &mut target, skips);
    written.with_context(|| Place(path).to_string())?;
    target.commit().with_context(|| format!("{}: cannot rename the finished file", Place(path)))
}
