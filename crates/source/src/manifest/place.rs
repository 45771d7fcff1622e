//! Makes a tree of listed files.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use lith_tree::{InodeIndex, Kind, Metadata, Name, Tree, TreeError};

use super::{
    contents::{ManifestContents, Stored},
    entry::{Bytes, Described, Entry, EntryKind},
    error::ManifestProblem,
};
use crate::{
    Options, Source, SourceError,
    directory::Folder,
    prune::{Fate, remove_empty},
};

/// Why no tree can be made.
pub(super) enum PlaceError {
    /// What the line of this number says can't be.
    Line(usize, ManifestProblem),
    /// The content of a file can't be found.
    Source(SourceError),
}

/// A listed file and the number of its line.
type Numbered = (usize, Entry);

/// Files by the names of their path, so in the order of a tree's walk.
type ByPath = BTreeMap<Vec<Name>, Numbered>;

/// Makes a tree. Directories above files that the list lacks have mode 0755 and belong to root.
pub(super) fn place(
    described: Vec<(usize, Described)>,
    folder: &Path,
    options: &Options,
) -> Result<Source, PlaceError> {
    let mut by_path = ByPath::new();
    for (line, (path, entry)) in described {
        let names = names(&path).map_err(|problem| PlaceError::Line(line, problem))?;
        if let Some((_, _twice)) = by_path.insert(names.clone(), (line, entry)) {
            let name = names.last().cloned();
            let problem = name.map_or(TreeError::NotADirectory, TreeError::Exists);
            return Err(PlaceError::Line(line, problem.into()));
        }
    }
    let folder = Folder::open(folder).map_err(PlaceError::Source)?;
    let root = Metadata { permissions: 0o755, ..Metadata::default() };
    let mut placer = Placer {
        folder,
        options,
        tree: Tree::new(root),
        stored: vec![Stored::Nothing],
        fates: HashMap::new(),
        links: HashMap::new(),
        provisional: Vec::new(),
    };
    for (names, (line, entry)) in &by_path {
        placer.place(&by_path, names, (*line, entry))?;
    }
    remove_empty(&mut placer.tree, &placer.provisional);
    let contents = ManifestContents { folder: placer.folder, stored: placer.stored };
    Ok(Source::new(placer.tree, contents))
}

fn names(path: &[u8]) -> Result<Vec<Name>, ManifestProblem> {
    let names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
    names.map(|name| Name::new(name).map_err(ManifestProblem::from)).collect()
}

fn joined(names: &[Name]) -> Vec<u8> {
    names.iter().map(Name::as_bytes).collect::<Vec<_>>().join(&b'/')
}

struct Placer<'a> {
    folder: Folder,
    options: &'a Options,
    tree: Tree,
    /// By inode.
    stored: Vec<Stored>,
    /// Of directories that are not simply taken.
    fates: HashMap<InodeIndex, Fate>,
    /// The inodes of files with several names, by the path of the one that is no link.
    links: HashMap<Vec<Name>, InodeIndex>,
    provisional: Vec<InodeIndex>,
}

impl Placer<'_> {
    fn place(
        &mut self,
        all: &ByPath,
        names: &[Name],
        (line, entry): (usize, &Entry),
    ) -> Result<(), PlaceError> {
        let failed = |problem: ManifestProblem| PlaceError::Line(line, problem);
        let Some((name, above)) = names.split_last() else {
            if entry.kind != EntryKind::Directory {
                return Err(failed(TreeError::NotADirectory.into()));
            }
            let metadata = self.metadata(entry);
            self.tree.get_mut(InodeIndex::ROOT).metadata = metadata;
            return Ok(());
        };
        let parent = self.directory(above).map_err(|error| failed(error.into()))?;
        let Some(parent) = parent else { return Ok(()) };
        let (target, file) = resolve(all, names, entry).map_err(failed)?;
        let fate = self.fate(parent, (&joined(above), name), file.kind == EntryKind::Directory);
        if fate == Fate::LeftOut {
            return Ok(());
        }
        if let Some(inode) = self.links.get(target) {
            let linked = self.tree.link(parent, name.clone(), *inode);
            linked.map_err(|error| failed(error.into()))?;
            if target == names {
                self.tree.set_first_name(*inode, parent, name);
            }
            return Ok(());
        }
        let (kind, stored) = self.kind(target, file, line)?;
        let metadata = self.metadata(file);
        let inode = self.tree.add(parent, name.clone(), metadata, kind);
        let inode = inode.map_err(|error| failed(error.into()))?;
        self.stored.push(stored);
        if file.kind == EntryKind::Directory {
            self.keep(inode, fate);
        } else if !self.options.dereference_hard_links {
            self.links.insert(target.to_vec(), inode);
        }
        Ok(())
    }

    /// The directory at a path, which is made if the list lacks it; `None`: it is left out.
    fn directory(&mut self, names: &[Name]) -> Result<Option<InodeIndex>, TreeError> {
        let mut at = InodeIndex::ROOT;
        for (depth, name) in names.iter().enumerate() {
            let entries = self.tree.get(at).as_directory().ok_or(TreeError::NotADirectory)?;
            if let Some(inode) = entries.get(name.as_bytes()) {
                at = inode;
                continue;
            }
            let above = names.get(..depth).unwrap_or_default();
            let fate = self.fate(at, (&joined(above), name), true);
            if fate == Fate::LeftOut {
                return Ok(None);
            }
            let metadata = Metadata { permissions: 0o755, ..Metadata::default() };
            at = self.tree.add(at, name.clone(), metadata, Kind::directory())?;
            self.stored.push(Stored::Nothing);
            self.keep(at, fate);
        }
        Ok(Some(at))
    }

    fn fate(&self, parent: InodeIndex, at: (&[u8], &Name), is_directory: bool) -> Fate {
        let above = self.fates.get(&parent).copied().unwrap_or(Fate::Taken);
        let (path, name) = at;
        Fate::new(&self.options.exclude, above, (path, name.as_bytes()), is_directory)
    }

    fn keep(&mut self, directory: InodeIndex, fate: Fate) {
        if fate == Fate::Provisional {
            self.fates.insert(directory, fate);
            self.provisional.push(directory);
        }
    }

    fn metadata(&mut self, entry: &Entry) -> Metadata {
        let xattrs = if self.options.xattrs { entry.xattrs.clone() } else { Vec::new() };
        Metadata { xattrs: self.tree.xattrs.intern(xattrs), ..entry.metadata }
    }

    /// The kind of a file, and where its content is.
    fn kind(
        &self,
        names: &[Name],
        entry: &Entry,
        line: usize,
    ) -> Result<(Kind, Stored), PlaceError> {
        let kind = match &entry.kind {
            EntryKind::Regular { size, content } => {
                return self.regular(names, *size, content, line);
            }
            EntryKind::Directory => Kind::directory(),
            EntryKind::Symlink(target) => Kind::Symlink(target.clone()),
            EntryKind::CharDevice(rdev) => Kind::CharDevice(*rdev),
            EntryKind::BlockDevice(rdev) => Kind::BlockDevice(*rdev),
            EntryKind::Fifo => Kind::Fifo,
            EntryKind::Socket => Kind::Socket,
            EntryKind::HardLink(target) => {
                return Err(PlaceError::Line(line, ManifestProblem::Link(target.clone())));
            }
        };
        Ok((kind, Stored::Nothing))
    }

    fn regular(
        &self,
        names: &[Name],
        expected: Option<u64>,
        content: &Bytes,
        line: usize,
    ) -> Result<(Kind, Stored), PlaceError> {
        let path = match content {
            Bytes::Own if expected == Some(0) => return Ok(empty()),
            Bytes::Own => joined(names),
            Bytes::At(path) => path.clone(),
            Bytes::Inline(bytes) => {
                let size = bytes.len() as u64;
                check_size(size, expected).map_err(|problem| PlaceError::Line(line, problem))?;
                return Ok((Kind::Regular { size }, Stored::Inline(bytes.clone())));
            }
        };
        let (file, size) = self
            .folder
            .find(&path)
            .map_err(PlaceError::Source)?
            .ok_or(PlaceError::Line(line, ManifestProblem::NotRegular))?;
        check_size(size, expected).map_err(|problem| PlaceError::Line(line, problem))?;
        Ok((Kind::Regular { size }, Stored::File(file)))
    }
}

fn empty() -> (Kind, Stored) {
    (Kind::Regular { size: 0 }, Stored::Inline(Box::default()))
}

fn check_size(found: u64, expected: Option<u64>) -> Result<(), ManifestProblem> {
    match expected.filter(|expected| *expected != found) {
        Some(expected) => Err(ManifestProblem::Size { found, expected }),
        None => Ok(()),
    }
}

/// The file that hard links lead to, and its path; itself if it is none.
fn resolve<'a>(
    all: &'a ByPath,
    names: &'a [Name],
    entry: &'a Entry,
) -> Result<(&'a [Name], &'a Entry), ManifestProblem> {
    let (mut names, mut entry) = (names, entry);
    // A chain of more links than there are files is a circle.
    for _ in 0..all.len() {
        let EntryKind::HardLink(target) = &entry.kind else { return Ok((names, entry)) };
        let found = all.get_key_value(&self::names(target)?);
        let Some((path, (_, file))) = found else { break };
        (names, entry) = (path, file);
    }
    match &entry.kind {
        EntryKind::HardLink(target) => Err(ManifestProblem::Link(target.clone())),
        _ => Ok((names, entry)),
    }
}
