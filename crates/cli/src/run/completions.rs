//! Prints shell completions (`lith completions`).

use std::io::Write;

use crate::{
    args::{self, completions::Completions},
    exit::Outcome,
    output,
};

pub(crate) fn run(request: &Completions) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(request.shell, &mut args::command(), "lith", &mut script);
    let mut output = output::stdout()?;
    output.write_all(&script)?;
    output::finish(output)
}
