//! Defines the arguments of `lith cache`.

use std::path::PathBuf;

use super::value::Size;

/// Manage what is kept of images on web servers
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Lists, checks and removes what is kept of images that were read from web servers.",
    after_long_help = "\
Examples:
  lith cache ls
  lith cache prune --limit 1G
  lith cache prune --all
  lith cache verify"
)]
pub(crate) struct Cache {
    #[command(subcommand)]
    pub(crate) verb: CacheVerb,

    /// The folder of the cache [default: `$XDG_CACHE_HOME/lith`]
    #[arg(long = "cache-dir", value_name = "DIR", global = true)]
    pub(crate) folder: Option<PathBuf>,

    /// Print it as JSON: docs/json.md
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// What is done with the cache.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum CacheVerb {
    /// List the images in it, the latest used first
    Ls,
    /// Remove those that were not used for the longest time
    Prune {
        /// Leave no more than this [default: `LITH_CACHE_LIMIT`, or 8G]
        #[arg(long, value_name = "SIZE")]
        limit: Option<Size>,
        /// Remove all that are not in use
        #[arg(long, conflicts_with = "limit")]
        all: bool,
    },
    /// Compare all bytes in it with their hashes, and forget those that have changed
    Verify,
}
