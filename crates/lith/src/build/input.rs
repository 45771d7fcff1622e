//! What is an image made of? Defines [`Input`], one or several sources and how they are read.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use lith_bases::Search;
use lith_source::{Excludes, Options, Source};

use lith_transform::Unmatched;

use super::unmatched::add_meanings;
use crate::{Error, open::open};

/// A source, and how it is read.
pub(super) struct Input<'a> {
    pub(super) from: From<'a>,
    pub(super) excludes: Vec<String>,
    pub(super) changes: Vec<Change<'a, Options>>,
}

pub(super) type Change<'a, T> = Box<dyn FnOnce(&mut T) + 'a>;

/// Where a source is.
pub(super) enum From<'a> {
    /// Directories, tars and images, each on top of the one before.
    Layers {
        paths: Vec<PathBuf>,
        /// Where further devices of the images among them are.
        search: Search,
    },
    /// A list of files, and the directory that their content is in.
    Manifest(PathBuf, PathBuf),
    Tar(Box<dyn Read + 'a>),
    Source(Source),
}

impl Input<'_> {
    pub(super) const fn new(from: From<'_>) -> Input<'_> {
        Input { from, excludes: Vec::new(), changes: Vec::new() }
    }

    /// Whether temporary data of the source may take memory.
    pub(super) const fn may_spool(&self) -> bool {
        !matches!(self.from, From::Source(_))
    }

    /// Whether all of it is directories.
    pub(super) fn is_directory(&self) -> bool {
        matches!(&self.from, From::Layers { paths, .. } if paths.iter().all(|path| path.is_dir()))
    }

    /// Reads the source, by options that `read` is the beginning of. Also returns the patterns that matched nothing.
    pub(super) fn open(self, mut read: Options) -> Result<(Source, Vec<Unmatched>), Error> {
        read.exclude = Excludes::new(&self.excludes).map_err(Error::Pattern)?;
        let is_changed = !self.changes.is_empty() || !self.excludes.is_empty();
        self.changes.into_iter().for_each(|change| change(&mut read));
        let source = match self.from {
            From::Source(_) if is_changed => return Err(Error::SourceIsRead),
            From::Source(source) => source,
            From::Tar(reader) => lith_source::tar_stream(reader, Path::new("tar"), &read)?,
            From::Manifest(list, folder) => lith_source::manifest(&list, &folder, &read)?,
            From::Layers { paths, search } => {
                let source = layers(&paths, &search, &read)?;
                let mut unmatched = read.exclude.unmatched();
                add_meanings(&mut unmatched, &paths);
                return Ok((source, unmatched));
            }
        };
        Ok((source, read.exclude.unmatched()))
    }
}

/// Reads all sources and merges them.
fn layers(paths: &[PathBuf], search: &Search, read: &Options) -> Result<Source, Error> {
    if let [path] = paths {
        return layer(path, search, (read, lith_reader::Options::default()));
    }
    let reader = lith_reader::Options::of_several(paths.len());
    let layers = paths.iter().map(|path| layer(path, search, (read, reader)));
    Ok(lith_source::merge(layers.collect::<Result<_, _>>()?)?)
}

/// Reads one source.
fn layer(
    path: &Path,
    search: &Search,
    (read, reader): (&Options, lith_reader::Options),
) -> Result<Source, Error> {
    let opened = open(path, search, read, reader)?;
    opened.into_source(path, read)
}
