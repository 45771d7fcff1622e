//! Makes deltas (`lith delta`) and applies them (`lith apply`).

use std::{
    borrow::Cow,
    fs::File,
    io::{self, BufReader, Read, Write},
    path::Path,
    sync::Arc,
    time::Instant,
};

use anyhow::Context;
use lith::{
    Error,
    bases::Search,
    delta::{Applied, DeltaError, Header, Images, Made, Options},
    device::ReadAt,
    observer::Progress,
};
use lith_report::number::{Bytes, Share};
use serde::Serialize;

use super::{device, subject};
use crate::{
    args::{
        MessageArgs,
        delta::{Apply, Delta},
        location::Location,
    },
    exit::Outcome,
    output::{self, error::Place, json, progress::Bar, signals::remove_files_on_signals},
};

pub(crate) fn make(request: &Delta, messages: MessageArgs) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let search = request.devices.search();
    let (old, new) = (open(&request.old, &search)?, open(&request.new, &search)?);
    let path = request.output.as_path();
    refuse_input(path, &[&request.old, &request.new])?;
    if !request.force && !takes_delta(path).with_context(|| Place(path).to_string())? {
        anyhow::bail!("{}: is no delta, and not replaced without --force", Place(path));
    }
    let mut output = output::stdout()?;
    remove_files_on_signals();
    let progress = Arc::new(Progress::default());
    let bar = Bar::new(!messages.quiet, &progress);
    let options = Options {
        level: request.level,
        recompress: !request.stored,
        workers: request.workers.count(),
        observer: &*progress,
    };
    let made = lith::make_delta(&Images { old, new }, path, &options);
    let made = made.map_err(|error| about(path, error))?;
    drop(bar);
    let seconds = started.elapsed().as_secs_f64();
    if request.json {
        json::write_pretty(&mut output, &MadeRecord::new(path, &made, seconds))?;
    } else if !messages.quiet {
        write_text(path, &made, seconds, &mut output)?;
    }
    output.flush()?;
    Ok(Outcome::Success)
}

fn write_text(path: &Path, made: &Made, seconds: f64, output: &mut dyn Write) -> io::Result<()> {
    let share = |bytes| format!("{}, {} of the new image", Bytes(bytes), Share(bytes, made.new));
    writeln!(output, "{}: {}", Place(path), share(made.bytes))?;
    for (name, bytes) in
        [("copied", made.copied), ("compressed", made.compressed), ("stored", made.stored)]
    {
        writeln!(output, "  {name:<11}{}", share(bytes))?;
    }
    writeln!(output, "  time       {seconds:.2} s")
}

/// A delta, as JSON has it.
#[derive(Serialize)]
struct MadeRecord<'a> {
    output: Cow<'a, str>,
    bytes: u64,
    old_bytes: u64,
    new_bytes: u64,
    copied: u64,
    compressed: u64,
    stored: u64,
    seconds: f64,
}

impl<'a> MadeRecord<'a> {
    fn new(output: &'a Path, made: &Made, seconds: f64) -> Self {
        let Made { bytes, old, new, copied, compressed, stored, .. } = *made;
        let output = output.to_string_lossy();
        Self { output, bytes, old_bytes: old, new_bytes: new, copied, compressed, stored, seconds }
    }
}

/// An image that a delta made, as JSON has it.
#[derive(Serialize)]
struct AppliedRecord<'a> {
    output: Cow<'a, str>,
    bytes: u64,
    copied: u64,
    compressed: u64,
    seconds: f64,
}

pub(crate) fn apply(request: &Apply, messages: MessageArgs) -> anyhow::Result<Outcome> {
    let Apply { old, delta, output: path, force, workers, json } = request;
    let started = Instant::now();
    if !force && !lith::is_replaceable(path, 0).with_context(|| Place(path).to_string())? {
        anyhow::bail!("{}: is no EROFS image, and not replaced without --force", Place(path));
    }
    if path.metadata().is_ok_and(|found| lith_system::is_block_device(found.file_type())) {
        refuse_input(path, &[old])?;
    }
    let device = device::open(old)?;
    let mut reader: Box<dyn Read> = if delta == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        refuse_input(path, &[delta])?;
        Box::new(File::open(delta).with_context(|| format!("{}: cannot open", Place(delta)))?)
    };
    reader = Box::new(BufReader::new(reader));
    // Opened first: once the image is in place, only writing this may fail.
    let output = json.then(output::stdout).transpose()?;
    remove_files_on_signals();
    let progress = Arc::new(Progress::default());
    let bar = Bar::new(!messages.quiet, &progress);
    let applied = lith::apply_delta(&*device, &mut reader, path, (workers.count(), &*progress));
    let applied = applied.map_err(|error| match error {
        Error::Delta(DeltaError::WrongOld(_)) => about(old, error),
        error => about(delta, error),
    })?;
    drop(bar);
    if let Some(mut output) = output {
        let Applied { bytes, copied, compressed, .. } = applied;
        let seconds = started.elapsed().as_secs_f64();
        let output_path = path.to_string_lossy();
        let record = AppliedRecord { output: output_path, bytes, copied, compressed, seconds };
        json::write_pretty(&mut output, &record)?;
        output.flush()?;
    }
    Ok(Outcome::Success)
}

/// The devices of an image, its own first.
fn open(path: &Path, search: &Search) -> anyhow::Result<Vec<Arc<dyn ReadAt>>> {
    let devices = subject::open_all(&Location::new(path, search.clone()))?;
    Ok(devices.into_iter().map(Arc::from).collect())
}

/// Whether a delta may replace what is at a path: nothing, an empty file, or a delta.
fn takes_delta(path: &Path) -> io::Result<bool> {
    match path.metadata() {
        Ok(found) if found.is_file() && found.len() > 0 => {
            let header = Header::read(&mut File::open(path)?);
            Ok(!matches!(header, Err(DeltaError::Other)))
        }
        Ok(found) if found.is_file() => Ok(true),
        _ => lith::is_replaceable(path, 0),
    }
}

/// Refuses to replace what is read.
fn refuse_input(output: &Path, inputs: &[&Path]) -> anyhow::Result<()> {
    let own = output.canonicalize().ok();
    let is_own = |input: &&&Path| own.is_some() && input.canonicalize().ok() == own;
    match inputs.iter().find(is_own) {
        Some(input) => anyhow::bail!("{}: is read and can't be replaced", Place(input)),
        None => Ok(()),
    }
}

/// An error, preceded by the path of a file unless it names a path itself.
fn about(path: &Path, error: Error) -> anyhow::Error {
    let names_a_path = error.path().is_some();
    let error = anyhow::Error::new(error);
    if names_a_path { error } else { error.context(Place(path).to_string()) }
}
