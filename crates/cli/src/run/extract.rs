//! Extracts files of an image (`lith extract`).

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::Context;
use lith::{export, tree::DisplayPath};

use super::{
    digests,
    paths::is_pattern,
    trees::{self, Opened, Verify},
};
use crate::{
    args::{MessageArgs, extract::Extract},
    exit::Outcome,
    output::{
        self,
        address::shown,
        error::{Place, tell},
        exported::Exported,
        json,
        progress::Bar,
        skips::Skips,
    },
};

pub(crate) fn run(request: &Extract, messages: MessageArgs) -> anyhow::Result<Outcome> {
    let on_error = request.salvage.on_error();
    let opened = trees::open_any(&request.image, &request.objects, (Verify::WhenRead, on_error))?;
    if request.digests {
        digests::require(&opened, request.workers.count())?;
    }
    let mut wanted = request.paths.clone();
    let directory = match &request.directory {
        Some(directory) => directory.clone(),
        None if names_destination(request, &opened)? => PathBuf::from(wanted.paths.remove(0)),
        None => default_directory(&shown(&request.image.image))?,
    };
    let (paths, source) = opened.select(&wanted, on_error)?;
    let (source, lost) = request.salvage.apply(source, &paths);
    let selection = trees::select(&source, &request.image.image, &paths)?;
    if request.directory.is_none() && !messages.quiet && !request.json {
        let image = Place(&request.image.image);
        tell(format_args!("lith: {image}: extracting to {}", Place(&directory)));
    }
    let skips = Skips::default();
    let bar = Bar::new(!messages.quiet, skips.progress());
    let result =
        export::extract(source.filesystem(), &selection, &directory, &request.options(), &skips);
    drop(bar);
    if let (true, Ok(report)) = (request.json, &result) {
        let record = Exported::new(&directory, *report, skips.lines(), lost.records());
        let mut output = output::stdout()?;
        json::write_pretty(&mut output, &record)?;
        output.flush()?;
    } else if !messages.quiet {
        skips.print("lith");
    }
    result?;
    Ok(lost.conclude())
}

/// Whether the first path is the destination, as before there was -C: the image doesn't have it, and it exists here or can
/// be created.
fn names_destination(request: &Extract, opened: &Opened<'_>) -> anyhow::Result<bool> {
    let Some(first) = request.paths.paths.first() else { return Ok(false) };
    let here = Path::new(first);
    let bytes = first.as_encoded_bytes();
    if !opened.has(bytes) {
        let parent = output::directory_of(here);
        return Ok(here.is_dir() || !is_pattern(bytes) && !here.exists() && parent.is_dir());
    }
    if here.is_dir() {
        let (image, name) = (Place(&request.image.image), DisplayPath(bytes));
        anyhow::bail!(
            "{name} is a directory here and a path in the image; `lith extract -C {name} {image}` extracts to it, \
             `lith extract -C DIR {image} {name}` extracts it"
        );
    }
    Ok(false)
}

/// The image's name without suffix, in the current directory.
fn default_directory(image: &Path) -> anyhow::Result<PathBuf> {
    let name = image.file_stem().filter(|_| image.extension().is_some());
    let name = name.with_context(|| format!("{}: -C DIR must name the destination", Place(image)));
    Ok(name?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_directory_has_the_name_of_the_image() {
        let directory = |image: &str| default_directory(Path::new(image)).ok();
        assert_eq!(directory("/srv/root.fs.erofs"), Some("root.fs".into()));
        assert_eq!([directory("image"), directory("/dev/sda"), directory("-")], [None, None, None]);
    }
}
