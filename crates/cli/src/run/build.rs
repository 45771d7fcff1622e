//! Builds an image, shows progress, and prints the report.

use std::{
    borrow::Cow,
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use lith::{
    Builder, Built, Error,
    builder::Report,
    format::kernel::Capability,
    observer::{Observer, Phase, Progress},
    source::SourceError,
    tree::DisplayPath,
};
use lith_report::number::{Bytes, Count, Share, ratio};
use serde::Serialize;

use super::{device, remote};
use crate::{
    args::{MessageArgs, build::Build, remote::Keep},
    exit::Outcome,
    output::{
        self,
        error::{Place, harmless, one_line, tell},
        hash_tree::HashTreeRecord,
        json,
        notes::NoteLine,
        progress::Bar,
        signals::remove_files_on_signals,
    },
};

pub(crate) fn run(request: Build, messages: MessageArgs) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    for base in request.bases.iter().filter(|base| base.is_file()) {
        device::refuse_other_file(base, 0)?;
    }
    // What a build reads it reads once.
    let builder = request.builder().read(remote::change(&Keep::Nowhere)?);
    let Build { image, kernel, json, max_depth, flat, .. } = request;
    let (streams, is_shown) = (image == Path::new("-"), !messages.quiet);
    // Opened first: once the image is in place, only writing this may fail.
    let mut output: Box<dyn Write> =
        if streams { Box::new(io::stderr()) } else { Box::new(output::stdout()?) };
    let Built { report, notes, unmatched, missing, hash_tree, bases, base_paths, lacking, .. } =
        if streams { stream(builder, is_shown)? } else { make(|| Ok(builder), &image, is_shown)? };
    let seconds = started.elapsed().as_secs_f64();
    let notes = notes.iter().map(|note| NoteLine(note).to_string());
    let unmatched = unmatched.iter().map(|pattern| harmless(&pattern.to_string()).into_owned());
    let notes =
        kernel.notes.into_iter().chain(notes).chain(unmatched).chain(missing_note(&missing));
    let notes = notes.chain(depth_note(bases).filter(|_| max_depth.is_none()));
    let notes = notes.chain(kernel_note(&lacking));
    let notes = notes.chain(flat.then(|| flat_note(&image, &base_paths)));
    if json {
        let verity = hash_tree
            .as_ref()
            .map(|tree| HashTreeRecord::new(&tree.superblock, tree.hash_offset, Some(tree.root)));
        let notes = notes.collect();
        json::write_pretty(&mut output, &Record::new(&image, &report, seconds, notes, verity))?;
    } else if !messages.quiet {
        notes.for_each(|note| tell(format_args!("lith: {note}")));
        write_text(&image, &report, seconds, &mut output)?;
        if let Some(tree) = hash_tree {
            writeln!(output, "  root hash {}", tree.root)?;
        }
    }
    output.flush()?;
    Ok(Outcome::Success)
}

/// Images that a patch refers to before it is said that they are many: each is one more that must be there to mount it.
const MANY_BASES: usize = 8;

/// That a patch refers to many images.
fn depth_note(bases: usize) -> Option<String> {
    let many = format!(
        "refers to {bases} images: time for a new base, a whole image or one that `lith flatten` makes (--max-depth)"
    );
    (bases > MANY_BASES).then_some(many)
}

/// That bases need a newer kernel than the default.
fn kernel_note(lacking: &[Capability]) -> Option<String> {
    let kernel = lacking.iter().map(|need| need.since()).max()?;
    let what: Vec<_> = lacking.iter().map(ToString::to_string).collect();
    Some(format!("mounts on Linux {kernel} and later, as its bases do: {}", what.join(", ")))
}

/// What becomes an image that can be mounted.
fn flat_note(image: &Path, bases: &[PathBuf]) -> String {
    let bases: Vec<_> = bases.iter().map(|base| Place(base).to_string()).collect();
    format!("mounted as one device: cat {} {} > IMAGE", Place(image), bases.join(" "))
}

/// That profiles name paths which the source lacks.
fn missing_note(missing: &[Vec<u8>]) -> Option<String> {
    let first = missing.first()?;
    let more = match missing.len() - 1 {
        0 => String::new(),
        more => format!(", and {} more", Count(more as u64, "path")),
    };
    Some(format!("/{} of the profile is not in the source{more}", DisplayPath(first)))
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

/// Makes an image as [`make`] does, and prints what was made as JSON if that is requested.
pub(super) fn make_and_print<'a>(
    open: impl FnOnce() -> anyhow::Result<Builder<'a>>,
    image: &Path,
    messages: MessageArgs,
    is_json: bool,
) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    // Opened first, as in `run`.
    let output = is_json.then(output::stdout).transpose()?;
    let Built { report, notes, .. } = make(open, image, !messages.quiet)?;
    if let Some(mut output) = output {
        let notes = notes.iter().map(|note| NoteLine(note).to_string()).collect();
        let seconds = started.elapsed().as_secs_f64();
        json::write_pretty(&mut output, &Record::new(image, &report, seconds, notes, None))?;
        output.flush()?;
    }
    Ok(Outcome::Success)
}

/// Writes an image to standard output.
fn stream(builder: Builder<'_>, is_shown: bool) -> anyhow::Result<Built> {
    if io::stdout().is_terminal() {
        anyhow::bail!("an image is not written to a terminal; redirect it, or name a file");
    }
    let progress = Arc::new(Progress::default());
    let _bar = Bar::new(is_shown, &progress);
    let mut output = output::stdout()?;
    builder.observer(&*progress).write_to(&mut output).map_err(|error| about(Path::new("-"), error))
}

/// An error, preceded by the image's path unless it names a path itself.
fn about(image: &Path, error: Error) -> anyhow::Error {
    if let Error::Occupied(path) = error {
        let place = Place(&path);
        return anyhow::anyhow!("{place}: is no EROFS image, and not replaced without --force");
    }
    if let Some(count) = tell_each(&error) {
        return match error {
            Error::Unmatched(_) => {
                anyhow::anyhow!("--strict: {}", Count(count, "unmatched pattern"))
            }
            _ => anyhow::anyhow!("{count} files can't be read; --on-error skip leaves them out"),
        };
    }
    let names_a_path = error.path().is_some() && !matches!(error, Error::Verify(_));
    let error = anyhow::Error::new(error);
    if names_a_path { error } else { error.context(Place(image).to_string()) }
}

/// Prints the errors of which one error is the sum, and returns their number.
fn tell_each(error: &Error) -> Option<u64> {
    let lines: Vec<String> = match error {
        Error::Source(SourceError::Several(errors)) => {
            errors.iter().map(|error| one_line(error)).collect()
        }
        Error::Unreadable(errors) => errors.iter().map(|error| one_line(error)).collect(),
        Error::Unmatched(patterns) => {
            patterns.iter().map(|pattern| harmless(&pattern.to_string()).into_owned()).collect()
        }
        _ => return None,
    };
    for line in &lines {
        tell(format_args!("lith: {line}"));
    }
    Some(lines.len() as u64)
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
    #[serde(skip_serializing_if = "Option::is_none")]
    verity: Option<HashTreeRecord>,
}

impl<'a> Record<'a> {
    fn new(
        image: &'a Path,
        report: &'a Report,
        seconds: f64,
        notes: Vec<String>,
        verity: Option<HashTreeRecord>,
    ) -> Self {
        let ratio = ratio(report.image_bytes, report.content_bytes);
        Self { image: image.to_string_lossy(), report, ratio, seconds, notes, verity }
    }
}

pub(super) fn write_text(
    image: &Path,
    report: &Report,
    seconds: f64,
    output: &mut dyn Write,
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
