//! Extracts files of an image (`lith extract`).

use lith::export;

use super::trees;
use crate::{
    args::extract::Extract,
    exit::Outcome,
    output::{progress::Bar, skips::Skips},
};

pub(crate) fn run(request: &Extract) -> anyhow::Result<Outcome> {
    let source = trees::of_image(&request.image)?;
    let selection = trees::select(&source, &request.image, &request.paths)?;
    let skips = Skips::default();
    let bar = Bar::new(!request.quiet, skips.progress());
    let fs = source.filesystem();
    let result = export::extract(fs, &selection, &request.directory, &request.options(), &skips);
    drop(bar);
    if !request.quiet {
        skips.print("lith");
    }
    result?;
    Ok(Outcome::Success)
}
