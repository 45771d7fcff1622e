//! Builds an image, shows progress, and prints the report.

use std::{borrow::Cow, io::Write, path::Path, sync::Arc, time::Instant};

use lith::{
    Builder, Built, Error,
    builder::Report,
    observer::{Observer, Phase, Progress},
};
use lith_report::number::{Bytes, Count, Share, ratio};
use serde::Serialize;

use super::trees;
use crate::{
    args::{MessageArgs, build::Build},
    exit::Outcome,
    output::{
        self, Stdout,
        error::{Place, tell},
        json,
        notes::NoteLine,
        progress::Bar,
        signals::remove_files_on_signals,
    },
};

pub(crate) fn run(request: Build, messages: MessageArgs) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let Build { source, search, bases, image, read, options, kernel_notes, .. } = request;
    let Build { adjust, memory, verify, json, .. } = request;
    // Of a patch the devices are those of its bases.
    let mut of_source = search.clone();
    of_source.devices.retain(|_| bases.is_empty());
    let open = || {
        let builder = Builder::source(trees::open(&source, &of_source, &read)?);
        let builder = builder.options(|all| *all = options).adjust(adjust).search(search);
        let builder = bases.into_iter().fold(builder, Builder::base);
        Ok(builder.workers(read.workers).memory(memory).verify(verify))
    };
    // Nothing shall fail after the image is in place but writing this.
    let mut output = output::stdout()?;
    let Built { report, notes, .. } = make(open, &image, !messages.quiet)?;
    let seconds = started.elapsed().as_secs_f64();
    let notes = notes.iter().map(|note| NoteLine(note).to_string());
    let notes = kernel_notes.into_iter().chain(notes);
    if json {
        let ratio = ratio(report.image_bytes, report.content_bytes);
        let (image, notes) = (image.to_string_lossy(), notes.collect());
        let record = Record { image, report: &report, ratio, seconds, notes };
        json::write_pretty(&mut output, &record)?;
    } else if !messages.quiet {
        notes.for_each(|note| tell(format_args!("lith: {note}")));
        write_text(&image, &report, seconds, &mut output)?;
    }
    output::finish(output)
}

/// Makes an image of the source that `open` opens, and shows the progress if `is_shown`.
pub(crate) fn make<'a>(
    open: impl FnOnce() -> anyhow::Result<Builder<'a>>,
    image: &Path,
    is_shown: bool,
) -> anyhow::Result<Built> {
    remove_files_on_signals();
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

fn write_text(
    image: &Path,
    report: &Report,
    seconds: f64,
    output: &mut Stdout,
) -> anyhow::Result<()> {
    let Report { image_bytes, content_bytes, files, inodes, .. } = *report;
    let (compressed, sparse) = (report.compressed_files, report.sparse_files);
    let others = inodes.saturating_sub(files);
    let share = Share(image_bytes, content_bytes);
    writeln!(output, "{}: {}", Place(image), Bytes(image_bytes))?;
    writeln!(output, "  content  {}, stored in {share}", Bytes(content_bytes))?;
    write!(output, "  files    {files} ({compressed} compressed, {sparse} sparse)")?;
    writeln!(output, " and {}", Count(others, "other inode"))?;
    writeln!(output, "  time     {seconds:.2} s")?;
    Ok(())
}
