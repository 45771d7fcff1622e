//! Writes a web page about an image (`lith report`).

use std::{
    borrow::Cow,
    env,
    ffi::OsString,
    fs::File,
    io::{self, Read, Write},
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use anyhow::Context;
use lith::observer::Progress;
use lith_report::{
    Comparison, Facts, GENERATOR, NamedImage, Options, compare, comparison_page, gather,
    number::Bytes, page,
};
use serde::Serialize;

use super::{presets, profile, subject::Subject};
use crate::{
    args::{MessageArgs, common::ImageArgs, report::Report},
    exit::Outcome,
    output::{
        self,
        address::shown,
        directory_of,
        error::{Place, one_line, tell},
        json,
        progress::{Bar, Position},
        target::Target,
    },
};

/// A page that was written.
#[derive(Serialize)]
struct Written<'a> {
    output: Cow<'a, str>,
    bytes: u64,
    /// What differs between two images.
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<Comparison>,
}

/// Bytes at the start of a page that contain the name of its generator.
const GENERATOR_BYTES: u64 = 4096;

pub(crate) fn run(request: &Report, messages: MessageArgs) -> anyhow::Result<Outcome> {
    let output = output(request)?;
    if request.json && output.is_none() {
        anyhow::bail!("--json prints to standard output, where the page goes; name a file with -o");
    }
    let (page, comparison) = if let Some(new) = request.new_image() {
        let found = comparison(request, &new, messages)?;
        let names = [name_of(&request.image.image), name_of(&new.image)];
        let names = names.each_ref().map(|name| name.as_encoded_bytes());
        (comparison_page(names, &found), Some(found))
    } else {
        let facts = facts(request, messages, output.as_deref())?;
        (page(name_of(&request.image.image).as_encoded_bytes(), &facts), None)
    };
    let Some(path) = output else {
        let mut output = output::stdout()?;
        output.write_all(page.as_bytes())?;
        return output::finish(output);
    };
    write(&path, &page)?;
    let mut output = output::stdout()?;
    if request.json {
        let (name, bytes) = (path.to_string_lossy(), page.len() as u64);
        let record = Written { output: name, bytes, comparison };
        json::write_pretty(&mut output, &record)?;
    } else if !messages.quiet {
        writeln!(output, "{}: {}", Place(&path), Bytes(page.len() as u64))?;
    }
    output::finish(output)
}

/// The path of the page; `None`: standard output.
fn output(request: &Report) -> anyhow::Result<Option<PathBuf>> {
    if let Some(path) = &request.output {
        return Ok((path.as_os_str() != "-").then(|| path.clone()));
    }
    let name = |path: &Path| {
        let name = shown(path).file_name().map(|name| Path::new(name).with_extension(""));
        name.with_context(|| format!("{}: not a file", Place(path)))
    };
    let mut stem = name(&request.image.image)?.into_os_string();
    if let Some(new) = &request.new {
        stem.push("-");
        stem.push(name(new)?);
    }
    stem.push(".html");
    let path = PathBuf::from(stem);
    if is_other(&path) {
        anyhow::bail!("{}: exists and is not a report; -o FILE replaces it", Place(&path));
    }
    Ok(Some(path))
}

/// The name of an image.
fn name_of(path: &Path) -> OsString {
    let image = shown(path);
    image.file_name().unwrap_or(image.as_os_str()).to_owned()
}

/// What differs between two images.
fn comparison(
    request: &Report,
    new: &ImageArgs,
    messages: MessageArgs,
) -> anyhow::Result<Comparison> {
    let stdin = Path::new("-");
    if request.image.image == stdin && new.image == stdin {
        anyhow::bail!("standard input can't be both images");
    }
    let progress = Arc::new(Progress::default());
    let _bar = Bar::new(!messages.quiet, &progress);
    let (first, second) = (Subject::open(&request.image)?, Subject::open(new)?);
    let (one, other) = (Arc::new(first.image), Arc::new(second.image));
    let of = |image, path| NamedImage { image, path };
    let images = [of(&one, &*request.image.image), of(&other, &*new.image)];
    let workers = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    Ok(compare(images, workers, &*progress)?)
}

/// Whether the path exists, but is not a page about an image.
fn is_other(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return path.symlink_metadata().is_ok() };
    let mut start = Vec::new();
    let read = file.take(GENERATOR_BYTES).read_to_end(&mut start);
    read.is_err() || !String::from_utf8_lossy(&start).contains(GENERATOR)
}

fn facts(request: &Report, messages: MessageArgs, output: Option<&Path>) -> anyhow::Result<Facts> {
    let tries = Arc::new(AtomicBool::new(false));
    let what = Arc::clone(&tries);
    let _bar = Bar::watch(!messages.quiet, move || Position {
        what: if what.load(Ordering::Relaxed) { "trying presets" } else { "reading the image" },
        done: 0,
        total: 0,
    });
    let subject = Subject::open(&request.image)?;
    let mut options = Options::default();
    options.equal_files = request.equal_files;
    let mut facts = gather(&subject.image, options).map_err(|error| subject.failed(error))?;
    if let Some(path) = &request.profile {
        facts.reads = Some(profile::first_reads(&subject, path)?);
    }
    if request.no_presets {
        return Ok(facts);
    }
    tries.store(true, Ordering::Relaxed);
    let folder = output.map_or_else(env::temp_dir, |path| directory_of(path).to_owned());
    match presets::estimate(&Arc::new(subject.image), &facts, &folder) {
        Ok(estimates) => facts.presets = Some(estimates),
        // A page about a corrupt image is useful without them.
        Err(error) => {
            let place = Place(&request.image.image);
            let error = one_line(error.as_ref());
            tell(format_args!("lith: {place}: cannot estimate other presets: {error}"));
        }
    }
    Ok(facts)
}

fn write(path: &Path, page: &str) -> anyhow::Result<()> {
    let place = || Place(path).to_string();
    let created: io::Result<Target> = Target::create(path);
    let mut target = created.with_context(|| format!("{}: cannot create", place()))?;
    target.write_all(page.as_bytes()).with_context(place)?;
    target.commit().with_context(|| format!("{}: cannot rename the finished file", place()))
}
