//! Defines arguments about images on web servers.

use std::path::PathBuf;

/// Where what is fetched of web servers is kept.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Images on web servers")]
pub(crate) struct RemoteArgs {
    /// The folder in which is kept what is fetched of an image [default: `$XDG_CACHE_HOME/lith`]
    #[arg(long, value_name = "DIR")]
    pub(crate) cache_dir: Option<PathBuf>,

    /// Keep nothing that is fetched for longer than the image is open
    #[arg(long, conflicts_with = "cache_dir")]
    pub(crate) no_cache: bool,
}

/// Where what is fetched is kept.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Keep {
    /// In the user's cache.
    #[default]
    Usual,
    /// In this folder.
    Folder(PathBuf),
    /// Nowhere.
    Nowhere,
}

impl RemoteArgs {
    pub(crate) fn keep(&self) -> Keep {
        match &self.cache_dir {
            _ if self.no_cache => Keep::Nowhere,
            Some(folder) => Keep::Folder(folder.clone()),
            None => Keep::Usual,
        }
    }
}
