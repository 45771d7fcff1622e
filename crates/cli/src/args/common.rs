//! Defines arguments that several verbs have in common.

use std::num::NonZeroUsize;

use super::environment;

/// The number of threads.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkersArgs {
    /// Threads to use [default: one per core]
    #[arg(long, value_name = "N")]
    workers: Option<NonZeroUsize>,
}

impl WorkersArgs {
    /// The requested number, or one per core.
    pub(crate) fn count(&self) -> NonZeroUsize {
        environment::workers(self.workers)
    }
}

/// The form of the result.
#[derive(Debug, clap::Args)]
pub(crate) struct OutputArgs {
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,

    /// Print nothing; the exit code is the result
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,
}
