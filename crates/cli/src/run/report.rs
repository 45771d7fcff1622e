//! Writes a web page about an image (`lith report`).

use std::{
    borrow::Cow,
    env,
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::Context;
use lith_report::{Facts, GENERATOR, Options, gather, number::Bytes, page};
use serde::Serialize;

use super::{presets, profile, subject::Subject};
use crate::{
    args::{MessageArgs, report::Report},
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
}

/// Bytes at the start of a page that contain the name of its generator.
const GENERATOR_BYTES: u64 = 4096;

pub(crate) fn run(request: &Report, messages: MessageArgs) -> anyhow::Result<Outcome> {
    let output = output(request)?;
    if request.json && output.is_none() {
        anyhow::bail!("--json prints to standard output, where the page goes; name a file with -o");
    }
    let facts = facts(request, messages, output.as_deref())?;
    let image = request.image.image.as_path();
    let image = shown(image);
    let name = image.file_name().unwrap_or(image.as_os_str());
    let page = page(name.as_encoded_bytes(), &facts)?;
    let Some(path) = output else {
        let mut output = output::stdout()?;
        output.write_all(page.as_bytes())?;
        return output::finish(output);
    };
    write(&path, &page)?;
    let mut output = output::stdout()?;
    if request.json {
        let record = Written { output: path.to_string_lossy(), bytes: page.len() as u64 };
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
    let image = shown(&request.image.image);
    let name = image.file_name();
    let name = name.with_context(|| format!("{}: not a file", Place(&request.image.image)))?;
    let path = Path::new(name).with_extension("html");
    if is_other(&path) {
        anyhow::bail!("{}: exists and is not a report; -o FILE replaces it", Place(&path));
    }
    Ok(Some(path))
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
