//! Builds an image, shows progress, and prints the report.

use std::{
    borrow::Cow,
    io::Write,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use lith::{
    Builder, Built, Error,
    builder::Report,
    observer::{Observer, Phase, Progress},
    source::Note,
};
use serde::Serialize;

use super::trees;
use crate::{
    args::build::{Build, Summary},
    exit::Outcome,
    output::{
        self, Stdout,
        error::Place,
        json,
        notes::NoteLine,
        number::{Bytes, Count, Share, ratio},
        progress::Bar,
    },
};

pub(crate) fn run(request: Build) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let Build { source, devices, image, read, options, adjust, work, summary } = request;
    let open = || {
        let builder = Builder::source(trees::open(&source, &devices, &read)?);
        Ok(work.apply(builder.options(|all| *all = options).adjust(adjust)))
    };
    let Built { report, notes, .. } = make(open, &image, summary != Summary::Nothing)?;
    let result = Printed { image: &image, report, notes, time: started.elapsed() };
    let mut output = output::stdout()?;
    match summary {
        Summary::Text => {
            result.print_notes();
            result.write_text(&mut output)?;
        }
        Summary::Json => json::write_pretty(&mut output, &result.record())?,
        Summary::Nothing => {}
    }
    output.flush()?;
    Ok(Outcome::Success)
}

/// Makes an image of the source that `open` opens, and shows the progress if `is_shown`.
pub(crate) fn make<'a>(
    open: impl FnOnce() -> anyhow::Result<Builder<'a>>,
    image: &Path,
    is_shown: bool,
) -> anyhow::Result<Built> {
    let progress = Arc::new(Progress::default());
    let _bar = Bar::new(is_shown, &progress);
    progress.begin(Phase::Scanning);
    open()?.observer(&*progress).build_to(image).map_err(|error| about(image, error))
}

/// An error, preceded by the image's path unless it names a path itself.
fn about(image: &Path, error: Error) -> anyhow::Error {
    let names_a_path = error.path().is_some() && !matches!(error, Error::Verify(_));
    let error = anyhow::Error::new(error);
    if names_a_path { error } else { error.context(Place(image).to_string()) }
}

struct Printed<'a> {
    image: &'a Path,
    report: Report,
    notes: Vec<Note>,
    time: Duration,
}

#[derive(Serialize)]
struct Record<'a> {
    image: Cow<'a, str>,
    #[serde(flatten)]
    report: &'a Report,
    /// Bytes of the image for each byte of content.
    ratio: Option<f64>,
    seconds: f64,
    notes: Vec<String>,
}

impl Printed<'_> {
    fn print_notes(&self) {
        for note in &self.notes {
            eprintln!("lith: {}", NoteLine(note));
        }
    }

    fn record(&self) -> Record<'_> {
        Record {
            image: self.image.to_string_lossy(),
            report: &self.report,
            ratio: ratio(self.report.image_bytes, self.report.content_bytes),
            seconds: self.time.as_secs_f64(),
            notes: self.notes.iter().map(|note| NoteLine(note).to_string()).collect(),
        }
    }

    fn write_text(&self, output: &mut Stdout) -> anyhow::Result<()> {
        let Report { image_bytes, content_bytes, files, inodes, .. } = self.report;
        let (compressed, sparse) = (self.report.compressed_files, self.report.sparse_files);
        let others = inodes.saturating_sub(files);
        let (share, seconds) = (Share(image_bytes, content_bytes), self.time.as_secs_f64());
        writeln!(output, "{}: {}", Place(self.image), Bytes(image_bytes))?;
        writeln!(output, "  content  {}, stored in {share}", Bytes(content_bytes))?;
        write!(output, "  files    {files} ({compressed} compressed, {sparse} sparse)")?;
        writeln!(output, " and {}", Count(others, "other inode"))?;
        writeln!(output, "  time     {seconds:.2} s")?;
        Ok(())
    }
}
