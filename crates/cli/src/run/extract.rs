//! How do files get out of an image?

use std::sync::atomic::Ordering;

use lith::export;

use super::trees;
use crate::{
    args::extract::Extract,
    exit::Outcome,
    output::{
        progress::{Bar, Position},
        skips::Skips,
    },
};

/// Copies an image, or parts of it, into a directory.
pub(crate) fn run(request: &Extract) -> anyhow::Result<Outcome> {
    let source = trees::of_image(&request.image)?;
    let selection = trees::select(&source, &request.image, &request.paths)?;
    let skips = Skips::default();
    let (bytes, total) = (skips.bytes(), trees::size_if_all(&source, &request.paths));
    let bar = Bar::new(!request.quiet, move || Position {
        what: "extracting",
        done: bytes.load(Ordering::Relaxed),
        total,
    });
    let fs = source.filesystem();
    let result = export::extract(fs, &selection, &request.directory, &request.options(), &skips);
    drop(bar);
    if !request.quiet {
        skips.tell("lith");
    }
    result?;
    Ok(Outcome::Success)
}
