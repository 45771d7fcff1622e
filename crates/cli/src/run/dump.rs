//! Prints a tree as canonical text (`lith dump`).

use std::sync::Arc;

use lith::{observer::Progress, tree};

use super::trees;
use crate::{
    args::{MessageArgs, dump::Dump},
    exit::Outcome,
    output::{self, progress::Bar},
};

pub(crate) fn run(request: &Dump, messages: MessageArgs) -> anyhow::Result<Outcome> {
    let source = trees::open_at(&request.source, &trees::everything())?;
    let progress = Arc::new(Progress::default());
    let _bar = Bar::new(!messages.quiet, &progress);
    let mut output = output::stdout()?;
    tree::dump_observed(source.filesystem(), &mut output, &*progress)?;
    output::finish(output)
}
