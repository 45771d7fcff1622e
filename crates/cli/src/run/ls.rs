//! Lists a directory of an image or another tree (`lith ls`).

use std::{collections::HashSet, hash::Hash, io::Write};

use anyhow::Context;
use lith::{format::file_type::FileType, source::OnError, tree::DisplayPath};

use super::{
    owners::Owners,
    paths,
    trees::{self, Opened, Verify},
    volume::{Entries, Entry, Volume},
};
use crate::{
    args::ls::Ls,
    exit::Outcome,
    output::{
        self, Stdout,
        attributes::{HumanSize, ModeString, Time, Zone},
        color::{self, painted},
        file::{Attributes, FileRecord},
        json,
    },
};

pub(crate) fn run(request: &Ls) -> anyhow::Result<Outcome> {
    match trees::open_any(&request.image, &request.objects, (Verify::WhenRead, OnError::Fail))? {
        Opened::Image(subject) => list(request, &*subject),
        Opened::Tree(subject) => list(request, &subject),
    }
}

fn list(request: &Ls, volume: &impl Volume) -> anyhow::Result<Outcome> {
    let mut paths = paths::requested(volume, &request.paths, |_any| true)?;
    if paths.is_empty() {
        paths.push(b"/".to_vec());
    }
    let found = paths.iter().map(|path| Ok((&**path, volume.find(path, false)?)));
    let found = found.collect::<anyhow::Result<Vec<_>>>()?;
    let (directories, files): (Vec<_>, Vec<_>) = found.into_iter().partition(|(_, node)| {
        volume.attributes(node).file_type == FileType::Directory && !request.directory
    });
    let owners = if request.names { Owners::of(volume) } else { Owners::default() };
    let mut list = List {
        volume,
        request,
        owners,
        with_paths: request.recursive || (request.paths.null && paths.len() > 1),
        output: output::stdout()?,
    };
    for (path, node) in &files {
        list.show(path, path, node)?;
    }
    for (number, (path, node)) in directories.iter().enumerate() {
        if paths.len() > 1 {
            list.heading(path, number > 0 || !files.is_empty())?;
        }
        list.directory(path, node)?;
    }
    output::finish(list.output)
}

struct List<'a, V> {
    volume: &'a V,
    request: &'a Ls,
    owners: Owners,
    /// Whether entries of directories are shown with their paths.
    with_paths: bool,
    output: Stdout,
}

/// A directory that is being listed.
struct Level<'a, I> {
    /// Length of its path in bytes.
    path: usize,
    entries: Entries<'a, I>,
}

impl<'a, V: Volume> List<'a, V> {
    /// The line before the entries of one of several directories, for people.
    fn heading(&mut self, path: &[u8], follows: bool) -> anyhow::Result<()> {
        if !(self.request.json || self.with_paths) {
            let gap = if follows { "\n" } else { "" };
            writeln!(self.output, "{gap}{}:", DisplayPath(path))?;
        }
        Ok(())
    }

    fn directory(&mut self, start_path: &[u8], start: &V::Node) -> anyhow::Result<()> {
        // One buffer for the paths of all levels: with a path each, deep nesting would take quadratic memory.
        let mut path = start_path.to_vec();
        let mut met = HashSet::from([self.volume.id(start)]);
        let mut levels = vec![self.level(&path, start)?];
        while let Some(level) = levels.last_mut() {
            path.truncate(level.path);
            let Some(entry) = level.entries.next() else {
                levels.pop();
                continue;
            };
            let entry = entry?;
            push_name(&mut path, &entry.name);
            if let Some(directory) = self.entry(&entry, &path)? {
                enter(&mut met, self.volume.id(&directory), &path)?;
                levels.push(self.level(&path, &directory)?);
            }
        }
        Ok(())
    }

    fn level(&self, path: &[u8], directory: &V::Node) -> anyhow::Result<Level<'a, V::Id>> {
        let entries = self.volume.entries(path, directory)?;
        Ok(Level { path: path.len(), entries })
    }

    /// Shows an entry; returns its file if it is a directory to descend into.
    fn entry(&mut self, entry: &Entry<V::Id>, path: &[u8]) -> anyhow::Result<Option<V::Node>> {
        let request = self.request;
        let shown = if self.with_paths { path } else { &entry.name };
        if !(request.long || request.json || request.recursive) {
            self.name(shown, entry.file_type.unwrap_or(FileType::Regular))?;
            return Ok(None);
        }
        let node = self.volume.node(path, entry.id)?;
        self.show(shown, path, &node)?;
        let is_directory = self.volume.attributes(&node).file_type == FileType::Directory;
        Ok((request.recursive && is_directory).then_some(node))
    }

    fn show(&mut self, shown: &[u8], path: &[u8], node: &V::Node) -> anyhow::Result<()> {
        let file = self.volume.attributes(node);
        if !(self.request.long || self.request.json) {
            return self.name(shown, file.file_type);
        }
        let target = self.volume.target(path, node)?;
        if self.request.json {
            let record = FileRecord::new(path, &file, target.as_deref());
            json::write_line(&mut self.output, &record)?;
        } else {
            self.line(shown, &file, target.as_deref())?;
        }
        Ok(())
    }

    /// Writes a line as `ls -l` does.
    fn line(
        &mut self,
        name: &[u8],
        file: &Attributes,
        target: Option<&[u8]>,
    ) -> anyhow::Result<()> {
        let request = self.request;
        let mode = ModeString(file.file_type, file.mode);
        let (uid, gid) = (self.owners.user(file.uid), self.owners.group(file.gid));
        let size = match file.rdev {
            Some((major, minor)) => format!("{major}, {minor}"),
            _ if request.human_readable => HumanSize(file.size).to_string(),
            _ => file.size.to_string(),
        };
        let time = Time(file.mtime, file.mtime_nsec, Zone::local_if(request.local));
        let name = painted(color::of_type(file.file_type), DisplayPath(name));
        let nlink = file.nlink;
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
fn enter<I: Eq + Hash>(met: &mut HashSet<I>, directory: I, path: &[u8]) -> anyhow::Result<()> {
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
