//! Converts an image to a tar (`lith tar`).

use std::{
    io::{self, IsTerminal, Write},
    path::Path,
};

use anyhow::Context;
use lith::{
    export::{self, MemberOrder, Report, Selection},
    source::Source,
};

use super::{
    digests,
    trees::{self, Verify},
};
use crate::{
    args::{self, MessageArgs, stream::Compression, tar::Tar},
    exit::Outcome,
    output::{
        self, compress::Encoder, error::Place, exported::Exported, json, progress::Bar,
        skips::Skips, target::Target,
    },
};

pub(crate) fn run(request: &Tar, messages: MessageArgs) -> anyhow::Result<Outcome> {
    let path = request.output.as_deref().filter(|path| *path != Path::new("-"));
    if path.is_none() && io::stdout().is_terminal() {
        anyhow::bail!("a tar is not written to a terminal; redirect it, or name a file with -o");
    }
    if request.json && path.is_none() {
        anyhow::bail!("--json prints to standard output, where the tar goes; name a file with -o");
    }
    let compression = compression(request, path)?;
    let on_error = request.salvage.on_error();
    let opened = trees::open_any(&request.image, &request.objects, (Verify::Ahead, on_error))?;
    if request.digests {
        digests::require(&opened, args::workers(None))?;
    }
    let (paths, source) = opened.select(&request.paths, on_error)?;
    let (source, lost) = request.salvage.apply(source, &paths);
    let selection = trees::select(&source, &request.image.image, &paths)?;
    let skips = Skips::default();
    let bar = Bar::new(!messages.quiet, skips.progress());
    let job = Job { source: &source, selection, order: request.order.into(), compression };
    let result = match path {
        Some(path) => job.write_file(path, &skips),
        None => job.write(&mut output::stdout()?, &skips),
    };
    drop(bar);
    if let (true, Some(path), Ok(report)) = (request.json, path, &result) {
        let record = Exported::new(path, *report, skips.lines(), lost.records());
        let mut output = output::stdout()?;
        json::write_pretty(&mut output, &record)?;
        output.flush()?;
    } else if !messages.quiet {
        skips.print("lith");
    }
    result?;
    Ok(lost.conclude())
}

/// The requested compression, or else that of the file's suffix.
fn compression(request: &Tar, path: Option<&Path>) -> anyhow::Result<Option<Compression>> {
    if let Some(compression) = request.compress {
        return Ok(compression.0);
    }
    path.map_or(Ok(None), Compression::of_suffix).map_err(anyhow::Error::msg)
}

/// What is written, and how.
struct Job<'a> {
    source: &'a Source,
    selection: Selection,
    order: MemberOrder,
    compression: Option<Compression>,
}

impl Job<'_> {
    fn write_file(&self, path: &Path, skips: &Skips) -> anyhow::Result<Report> {
        let mut target =
            Target::create(path).with_context(|| format!("{}: cannot create", Place(path)))?;
        let report = self.write(&mut target, skips).with_context(|| Place(path).to_string())?;
        let renamed = target.commit();
        renamed.with_context(|| format!("{}: cannot rename the finished file", Place(path)))?;
        Ok(report)
    }

    fn write(&self, output: &mut dyn Write, skips: &Skips) -> anyhow::Result<Report> {
        let Self { source, selection, order, .. } = self;
        let fs = source.filesystem();
        let Some(compression) = self.compression else {
            let report = export::write_tar(fs, selection, *order, output, skips)?;
            output.flush()?;
            return Ok(report);
        };
        let mut encoder = Encoder::new(compression, output)?;
        let report = export::write_tar(fs, selection, *order, &mut encoder, skips)?;
        encoder.finish()?;
        Ok(report)
    }
}
