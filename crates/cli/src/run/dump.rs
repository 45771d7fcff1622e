//! Prints a tree as canonical text (`lith dump`).

use std::sync::Arc;

use lith::{
    observer::Progress,
    tree::{self, DumpRow},
};

use super::trees;
use crate::{
    args::{MessageArgs, dump::Dump},
    exit::Outcome,
    output::{self, dumped::DumpRecord, json, progress::Bar},
};

pub(crate) fn run(request: &Dump, messages: MessageArgs) -> anyhow::Result<Outcome> {
    let mut options = trees::everything();
    options.on_error = request.salvage.on_error();
    let source = trees::open_at(&request.source, &options)?;
    let (source, lost) = request.salvage.apply(source, &[]);
    let progress = Arc::new(Progress::default());
    let bar = Bar::new(!messages.quiet, &progress);
    let mut output = output::stdout()?;
    if request.json {
        let mut write = |row: &DumpRow<'_>| json::write_line(&mut output, &DumpRecord::from(row));
        tree::dump_rows(source.filesystem(), &mut write, &*progress)?;
    } else {
        tree::dump_observed(source.filesystem(), &mut output, &*progress)?;
    }
    drop(bar);
    output::finish(output)?;
    Ok(lost.conclude())
}
