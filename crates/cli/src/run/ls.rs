//! Lists a directory of an image (`lith ls`).

use std::{collections::HashSet, io::Write};

use anyhow::Context;
use lith::{
    format::{addr::Nid, file_type::FileType, inode::InodeData},
    reader::{DirEntry, Inode, ReadDir},
    tree::DisplayPath,
};

use super::subject::Subject;
use crate::{
    args::ls::Ls,
    exit::Outcome,
    output::{
        self, Stdout,
        attributes::{ModeString, Time},
        file::FileRecord,
        json,
    },
};

pub(crate) fn run(request: &Ls) -> anyhow::Result<Outcome> {
    let subject = Subject::open(&request.image)?;
    let path = request.path.as_encoded_bytes();
    let start = subject.find(path, false)?;
    let mut list = List { subject: &subject, request, output: output::stdout()? };
    if start.file_type == FileType::Directory {
        list.directory(path, &start)?;
    } else {
        list.show(path, path, &start)?;
    }
    output::finish(list.output)
}

struct List<'a> {
    subject: &'a Subject<'a>,
    request: &'a Ls,
    output: Stdout,
}

/// A directory that is being listed.
struct Level<'a> {
    /// Length of its path in bytes.
    path: usize,
    entries: ReadDir<'a>,
}

impl<'a> List<'a> {
    fn directory(&mut self, start_path: &[u8], start: &Inode) -> anyhow::Result<()> {
        // One buffer for the paths of all levels: with a path each, deep nesting would take quadratic memory.
        let mut path = start_path.to_vec();
        let mut met = HashSet::from([start.nid]);
        let mut levels = vec![self.level(&path, start)?];
        while let Some(level) = levels.last_mut() {
            path.truncate(level.path);
            let Some(entry) = level.entries.next() else {
                levels.pop();
                continue;
            };
            let entry = entry.map_err(|error| self.subject.about(&path, error))?;
            push_name(&mut path, &entry.name);
            if let Some(directory) = self.entry(&entry, &path)? {
                enter(&mut met, directory.nid, &path)?;
                levels.push(self.level(&path, &directory)?);
            }
        }
        Ok(())
    }

    fn level(&self, path: &[u8], directory: &Inode) -> anyhow::Result<Level<'a>> {
        let subject = self.subject;
        let entries = subject.image.read_dir(directory);
        let entries = entries.map_err(|error| subject.about(path, error))?;
        Ok(Level { path: path.len(), entries })
    }

    /// Shows an entry; returns its inode if it is a directory to descend into.
    fn entry(&mut self, entry: &DirEntry, path: &[u8]) -> anyhow::Result<Option<Inode>> {
        let request = self.request;
        let shown = if request.recursive { path } else { &entry.name };
        if !(request.long || request.json || request.recursive) {
            self.name(shown)?;
            return Ok(None);
        }
        let inode = self.subject.image.inode(entry.nid);
        let inode = inode.map_err(|error| self.subject.about(path, error))?;
        self.show(shown, path, &inode)?;
        let goes_on = request.recursive && inode.file_type == FileType::Directory;
        Ok(goes_on.then_some(inode))
    }

    fn show(&mut self, shown: &[u8], path: &[u8], inode: &Inode) -> anyhow::Result<()> {
        if !(self.request.long || self.request.json) {
            return self.name(shown);
        }
        let target = self.subject.target(path, inode)?;
        if self.request.json {
            let record = FileRecord::new(path, inode, target.as_deref());
            json::write_line(&mut self.output, &record)?;
        } else {
            long(&mut self.output, shown, inode, target.as_deref())?;
        }
        Ok(())
    }

    fn name(&mut self, name: &[u8]) -> anyhow::Result<()> {
        if self.request.null {
            self.output.write_all(name)?;
            self.output.write_all(b"\0")?;
        } else {
            writeln!(self.output, "{}", DisplayPath(name))?;
        }
        Ok(())
    }
}

/// Appends the name of an entry to the path of its directory.
fn push_name(path: &mut Vec<u8>, name: &[u8]) {
    if !path.is_empty() && path.last() != Some(&b'/') {
        path.push(b'/');
    }
    path.extend_from_slice(name);
}

/// Records that a directory is listed; fails the second time, as a corrupt image can contain a loop.
fn enter(met: &mut HashSet<Nid>, directory: Nid, path: &[u8]) -> anyhow::Result<()> {
    let is_new = met.insert(directory);
    is_new
        .then_some(())
        .with_context(|| format!("{}: the directory has a second path", DisplayPath(path)))
}

fn long(
    output: &mut Stdout,
    name: &[u8],
    inode: &Inode,
    target: Option<&[u8]>,
) -> anyhow::Result<()> {
    let mode = ModeString(inode.file_type, inode.mode);
    let (nlink, uid, gid) = (inode.nlink, inode.uid, inode.gid);
    let size = match inode.data {
        InodeData::Device(rdev) => format!("{}, {}", rdev.major, rdev.minor),
        _ => inode.size.to_string(),
    };
    let (time, name) = (Time(inode.mtime, inode.mtime_nsec), DisplayPath(name));
    write!(output, "{mode} {nlink:>2} {uid:>5} {gid:>5} {size:>10} {time} {name}")?;
    match target {
        Some(target) => writeln!(output, " -> {}", DisplayPath(target))?,
        None => writeln!(output)?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_joined_by_one_slash() {
        for (directory, expected) in [("", "b"), ("/", "/b"), ("a", "a/b"), ("a/", "a/b")] {
            let mut path = directory.as_bytes().to_vec();
            push_name(&mut path, b"b");
            assert_eq!(path, expected.as_bytes());
        }
    }
}
