//! What changed between two images, and what grew?
//!
//! Defines [`compare()`]. Names and content are compared by [`lith_tree::diff`]; stored bytes are those that
//! [`gather()`](crate::gather()) attributes to files.

mod folders;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, HashSet},
    num::NonZeroUsize,
    path::Path,
    sync::Arc,
};

use lith_format::addr::Nid;
use lith_observer::Observer;
use lith_reader::{Error, Image};
use lith_tree::{Change, DiffOptions, Difference};

use self::folders::BothFolders;
use crate::{
    details::Options,
    error::ComparisonError,
    facts::{
        Changes, Compared, Comparison, FileChange, FileFate, Located, Summary, Sums, TypeChange,
    },
    walk::{Recorded, Walk},
};

/// Files that are listed.
const FILES: usize = 100;

/// An image and its path, for errors.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// The image.
    pub image: &'a Arc<Image>,
    /// Where it is.
    pub path: &'a Path,
}

/// Compares two images: which names differ, and how many bytes more or less each folder, type and changed file takes.
/// Reads the content of all files that have the same size in both. `observer` gets the number of bytes to compare.
///
/// # Errors
/// [`ComparisonError`] if a part of an image is corrupt or can't be read, or the observer cancels.
pub fn compare(
    images: [Named<'_>; 2],
    workers: NonZeroUsize,
    observer: &dyn Observer,
) -> Result<Comparison, ComparisonError> {
    let [first, second] = images;
    let (one, other) = (record(first)?, record(second)?);
    let source = |of: Named<'_>| {
        let options = lith_source::Options::default();
        lith_source::image(Arc::clone(of.image), of.path, &options)
    };
    let (left, right) = (source(first)?, source(second)?);
    let mut found = Found {
        images,
        sums: [&one.files, &other.files],
        met: [HashSet::new(), HashSet::new()],
        folders: BothFolders::new(&one.folders, &other.folders),
        names: Changes::default(),
        last: None,
        files: Vec::new(),
        more: 0,
        failed: None,
    };
    let options = DiffOptions::with(|options| options.workers = workers);
    let (left, right) = (left.filesystem(), right.filesystem());
    lith_tree::diff(left, right, &options, observer, &mut |difference| found.see(&difference))?;
    found.end_path();
    found.failed.take().map_or(Ok(()), Err)?;
    found.shorten();
    let Found { folders, names, files, more, .. } = found;
    Ok(Comparison {
        images: [(first, &one), (second, &other)].map(|(of, recorded)| compared(of, recorded)),
        names,
        folders: folders.root(),
        types: types(one.types, other.types),
        files,
        more_files: more,
    })
}

fn record(of: Named<'_>) -> Result<Recorded, ComparisonError> {
    let recorded = || {
        let mut walk = Walk::new(of.image, Some(Options::default()))?;
        walk.record();
        walk.run()?;
        Ok(walk.recorded())
    };
    recorded().map_err(|source| ComparisonError::Facts { path: of.path.to_owned(), source })
}

fn compared(of: Named<'_>, recorded: &Recorded) -> Compared {
    let summary = Summary::new(of.image);
    Compared {
        size: lith_survey::devices_size(of.image),
        all: recorded.all,
        oldest_kernel: summary.kernel.oldest,
        algorithms: summary.algorithms.iter().map(|algorithm| algorithm.name).collect(),
        features: summary.features.incompat,
    }
}

type ByType = BTreeMap<String, Sums>;

/// Types whose sums differ.
fn types(before: ByType, after: ByType) -> Vec<TypeChange> {
    let mut both: BTreeMap<String, [Sums; 2]> = BTreeMap::new();
    for (side, all) in [before, after].into_iter().enumerate() {
        for (name, sums) in all {
            if let Some(slot) = both.entry(name).or_default().get_mut(side) {
                *slot = sums;
            }
        }
    }
    let mut types: Vec<_> = both
        .into_iter()
        .filter(|(_, [before, after])| before != after)
        .map(|(name, [before, after])| TypeChange { name, before, after })
        .collect();
    types.sort_by_key(|change| Reverse(change.before.distance(&change.after)));
    types
}

/// What was found so far.
struct Found<'a> {
    images: [Named<'a>; 2],
    /// The sums of each regular file.
    sums: [&'a HashMap<Nid, Sums>; 2],
    /// Files that are listed already.
    met: [HashSet<Nid>; 2],
    folders: BothFolders,
    names: Changes,
    /// The path whose differences are coming in, and the gravest of them.
    last: Option<(Box<[u8]>, Gravity)>,
    files: Vec<FileChange>,
    /// Files that are not listed.
    more: u64,
    failed: Option<ComparisonError>,
}

/// How much a difference matters; greater ones matter more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Gravity {
    Attributes,
    Changed,
    Added,
    Removed,
}

impl Gravity {
    const fn of(change: &Change) -> Self {
        match change {
            Change::Missing => Self::Removed,
            Change::Added => Self::Added,
            Change::Kind(..)
            | Change::Rdev(..)
            | Change::Target(..)
            | Change::Size(..)
            | Change::Content { .. } => Self::Changed,
            _ => Self::Attributes,
        }
    }

    /// One name of this kind.
    fn count(self) -> Changes {
        let mut changes = Changes::default();
        *match self {
            Self::Attributes => &mut changes.attributes,
            Self::Changed => &mut changes.changed,
            Self::Added => &mut changes.added,
            Self::Removed => &mut changes.removed,
        } = 1;
        changes
    }

    const fn fate(self) -> Option<FileFate> {
        match self {
            Self::Attributes => None,
            Self::Changed => Some(FileFate::Changed),
            Self::Added => Some(FileFate::Added),
            Self::Removed => Some(FileFate::Removed),
        }
    }
}

impl Found<'_> {
    /// Takes a difference in; those of one path come one after another.
    fn see(&mut self, Difference { path, change }: &Difference) {
        let gravity = Gravity::of(change);
        match &mut self.last {
            Some((last, gravest)) if last == path => *gravest = gravity.max(*gravest),
            _ => {
                self.end_path();
                self.last = Some((path.clone(), gravity));
            }
        }
    }

    /// Counts the last path.
    fn end_path(&mut self) {
        let Some((path, gravity)) = self.last.take() else { return };
        let changes = gravity.count();
        self.names.add(&changes);
        self.folders.count(&path, &changes);
        if let Some(change) = gravity.fate()
            && self.failed.is_none()
        {
            self.failed = self.see_file(&path, change).err();
        }
    }

    /// Lists a path, if it is a regular file in one of the images.
    fn see_file(&mut self, path: &[u8], change: FileFate) -> Result<(), ComparisonError> {
        let before = if change == FileFate::Added { None } else { self.sums_of(0, path)? };
        let after = if change == FileFate::Removed { None } else { self.sums_of(1, path)? };
        if before.is_none() && after.is_none() {
            return Ok(());
        }
        let path = Located([b"/", path].concat());
        let [before, after] = [before, after].map(Option::unwrap_or_default);
        self.files.push(FileChange { path, change, before, after });
        if self.files.len() > 100 * FILES {
            self.shorten();
        }
        Ok(())
    }

    /// The sums of a regular file of an image; zeros if it is listed by another name.
    fn sums_of(&mut self, side: usize, path: &[u8]) -> Result<Option<Sums>, ComparisonError> {
        let (Some(of), Some(sums)) = (self.images.get(side), self.sums.get(side)) else {
            return Ok(None);
        };
        let inode = match of.image.resolve(path) {
            Ok(inode) => inode,
            // Names that an image can't have twice have their first inode here, and another one in the tree.
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(source) => {
                return Err(ComparisonError::Read { path: of.path.to_owned(), source });
            }
        };
        let found = sums.get(&inode.nid).copied();
        let is_new = self.met.get_mut(side).is_some_and(|met| met.insert(inode.nid));
        Ok(found.map(|sums| if is_new { sums } else { Sums::default() }))
    }

    /// Keeps the files whose stored bytes changed most.
    fn shorten(&mut self) {
        self.files.sort_by_key(|file| Reverse(file.before.distance(&file.after)));
        self.more += self.files.len().saturating_sub(FILES) as u64;
        self.files.truncate(FILES);
    }
}
