//! Prints a tree as canonical text (`lith dump`).

use super::trees;
use crate::{args::dump::Dump, exit::Outcome, output};

pub(crate) fn run(request: &Dump) -> anyhow::Result<Outcome> {
    let source = trees::open_at(&request.source, &trees::everything())?;
    let mut output = output::stdout()?;
    lith::tree::dump(source.filesystem(), &mut output)?;
    output::finish(output)
}
