//! Lists a directory of an image (`lith ls`).

use std::{collections::HashSet, io::Write};

use anyhow::Context;
use lith::{
    format::{addr::Nid, file_type::FileType, inode::InodeData},
    reader::{DirEntry, Inode, ReadDir},
    tree::DisplayPath,
};

use super::{owners::Owners, paths, subject::Subject};
use crate::{
    args::ls::Ls,
    exit::Outcome,
    output::{
        self, Stdout,
        attributes::{HumanSize, ModeString, Time, Zone},
        color::{self, painted},
        file::FileRecord,
        json,
    },
};

pub(crate) fn run(request: &Ls) -> anyhow::Result<Outcome> {
    let subject = Subject::open(&request.image)?;
    let mut paths = paths::requested(&subject, &request.paths, |_any| true)?;
    if paths.is_empty() {
        paths.push(b"/".to_vec());
    }
    let found = paths.iter().map(|path| Ok((&**path, subject.find(path, false)?)));
    let found = found.collect::<anyhow::Result<Vec<_>>>()?;
    let lists = |inode: &Inode| inode.file_type == FileType::Directory && !request.directory;
    let (directories, files): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|(_, inode)| lists(inode));
    let owners = if request.names { Owners::of(&subject.image) } else { Owners::default() };
    let mut list = List {
        subject: &subject,
        request,
        owners,
        with_paths: request.recursive || (request.paths.null && paths.len() > 1),
        output: output::stdout()?,
    };
    for (path, inode) in &files {
        list.show(path, path, inode)?;
    }
    for (number, (path, inode)) in directories.iter().enumerate() {
        if paths.len() > 1 {
            list.heading(path, number > 0 || !files.is_empty())?;
        }
        list.directory(path, inode)?;
    }
    output::finish(list.output)
}

struct List<'a> {
    subject: &'a Subject<'a>,
    request: &'a Ls,
    owners: Owners,
    /// Whether entries of directories are shown with their paths.
    with_paths: bool,
    output: Stdout,
}

/// A directory that is being listed.
struct Level<'a> {
    /// Length of its path in bytes.
    path: usize,
    entries: ReadDir<'a>,
}

impl<'a> List<'a> {
    /// The line before the entries of one of several directories, for people.
    fn heading(&mut self, path: &[u8], follows: bool) -> anyhow::Result<()> {
        if !(self.request.json || self.with_paths) {
            let gap = if follows { "\n" } else { "" };
            writeln!(self.output, "{gap}{}:", DisplayPath(path))?;
        }
        Ok(())
    }

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
        let shown = if self.with_paths { path } else { &entry.name };
        if !(request.long || request.json || request.recursive) {
            self.name(shown, entry.file_type.unwrap_or(FileType::Regular))?;
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
            return self.name(shown, inode.file_type);
        }
        let target = self.subject.target(path, inode)?;
        if self.request.json {
            let record = FileRecord::new(path, inode, target.as_deref());
            json::write_line(&mut self.output, &record)?;
        } else {
            self.line(shown, inode, target.as_deref())?;
        }
        Ok(())
    }

    /// Writes a line as `ls -l` does.
    fn line(&mut self, name: &[u8], inode: &Inode, target: Option<&[u8]>) -> anyhow::Result<()> {
        let request = self.request;
        let mode = ModeString(inode.file_type, inode.mode);
        let (uid, gid) = (self.owners.user(inode.uid), self.owners.group(inode.gid));
        let size = match inode.data {
            InodeData::Device(rdev) => format!("{}, {}", rdev.major, rdev.minor),
            _ if request.human_readable => HumanSize(inode.size).to_string(),
            _ => inode.size.to_string(),
        };
        let time = Time(inode.mtime, inode.mtime_nsec, Zone::local_if(request.local));
        let name = painted(color::of_type(inode.file_type), DisplayPath(name));
        let nlink = inode.nlink;
        write!(self.output, "{mode} {nlink:>2} {uid:>5} {gid:>5} {size:>10} {time} {name}")?;
        match target {
            Some(target) => writeln!(self.output, " -> {}", DisplayPath(target))?,
            None => writeln!(self.output)?,
        }
        Ok(())
    }

    fn name(&mut self, name: &[u8], file_type: FileType) -> anyhow::Result<()> {
        if self.request.paths.null {
            self.output.write_all(name)?;
            self.output.write_all(b"\0")?;
        } else {
            writeln!(self.output, "{}", painted(color::of_type(file_type), DisplayPath(name)))?;
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
