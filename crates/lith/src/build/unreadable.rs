//! Which files of a source can't be read, and how are they left out?

use std::{collections::HashMap, convert::Infallible, num::NonZeroUsize};

use lith_parallel::try_map;
use lith_source::{Note, Source};
use lith_tree::{ContentError, Filesystem, InodeIndex, Kind, Pieces, push_name};

/// Bytes read at once.
const BUFFER: usize = 1 << 20;

/// How files are tried.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Trial {
    /// They are opened, by which those are found that may not be read or have changed.
    Open,
    /// They are read.
    Read,
}

/// The regular files that can't be read, in the order of a walk.
pub(super) fn unreadable(
    fs: Filesystem<'_>,
    trial: Trial,
    workers: NonZeroUsize,
) -> Vec<(InodeIndex, ContentError)> {
    let inodes = fs.tree.walk().map(|visit| visit.inode);
    let mut files: Vec<_> = inodes.filter(|inode| size(fs, *inode).is_some()).collect();
    files.sort_unstable();
    files.dedup();
    let errors = try_map(&files, workers, Vec::new, |buffer, inode| {
        Ok::<_, Infallible>(try_file(fs, *inode, trial, buffer).err().map(|error| (*inode, error)))
    });
    match errors {
        Ok(errors) => errors.into_iter().flatten().collect(),
        Err(never) => match never {},
    }
}

/// The size of a regular file.
fn size(fs: Filesystem<'_>, inode: InodeIndex) -> Option<u64> {
    match fs.tree.get(inode).kind {
        Kind::Regular { size } => Some(size),
        _ => None,
    }
}

fn try_file(
    fs: Filesystem<'_>,
    inode: InodeIndex,
    trial: Trial,
    buffer: &mut Vec<u8>,
) -> Result<(), ContentError> {
    let content = fs.open(inode)?;
    if trial == Trial::Read && content.elsewhere()?.is_none() {
        buffer.resize(BUFFER, 0);
        let mut pieces = Pieces::new(&*content, 0..size(fs, inode).unwrap_or(0), buffer);
        while pieces.advance()?.is_some() {}
    }
    content.check_unchanged()
}

/// Removes all names of files from a tree, and notes each.
pub(super) fn leave_out(source: &mut Source, files: Vec<(InodeIndex, ContentError)>) -> Vec<Note> {
    let reasons: HashMap<_, _> =
        files.into_iter().map(|(inode, error)| (inode, error.reason())).collect();
    let tree = &mut source.tree;
    let visits = tree.walk().filter(|visit| reasons.contains_key(&visit.inode));
    let names: Vec<_> =
        visits.map(|visit| (visit.parent, visit.name.cloned(), visit.inode)).collect();
    let mut notes = Vec::new();
    for (parent, name, inode) in names {
        let Some((name, reason)) = name.zip(reasons.get(&inode)) else { continue };
        let mut path = tree.path(parent);
        push_name(&mut path, name.as_bytes());
        tree.remove(parent, name.as_bytes());
        notes.push(Note::unreadable(&path, reason.clone()));
    }
    notes
}
