//! Reads sort files in the form of mksquashfs: on each line a path, and its priority.
//!
//! A priority is a number from -32768 to 32767; files of higher ones are stored first, those without one have 0. The
//! priority of a directory is that of everything below that has none of its own. Of several lines for the same path the
//! last counts. A backslash takes the meaning from a character, such as a blank in a name; lines that begin with `#` have
//! no meaning. Paths begin at the root of the image. Beyond mksquashfs, a path may be a glob: with a slash inside it is
//! for whole paths, without one for names anywhere.

use std::{
    collections::HashMap,
    io::{self, BufRead},
};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use lith_tree::{InodeIndex, Kind, Tree};

use crate::{
    error::ProblemKind,
    text::{clean_path, for_each_line},
};

/// The priorities of paths.
#[derive(Debug, Default)]
pub struct Priorities {
    /// By path: the number of the line, and the priority there.
    paths: HashMap<Vec<u8>, (usize, i16)>,
    globs: GlobSet,
    /// The same for each glob.
    of_globs: Vec<(usize, i16)>,
}

/// Reads a sort file.
///
/// # Errors
/// [`io::Error`] if the text can't be read; of kind `InvalidData`, with a [`ParseError`](crate::ParseError) inside, if a
/// line is none of a sort file.
pub fn priorities(text: impl BufRead) -> io::Result<Priorities> {
    let mut found = Priorities::default();
    let mut globs = GlobSetBuilder::new();
    let mut number = 0;
    for_each_line(text, |_, line| {
        let line = line.trim_ascii_start();
        if line.trim_ascii().is_empty() || line.starts_with(b"#") {
            return Ok(());
        }
        number += 1;
        let (path, priority) = parse(line)?;
        match path {
            Pattern::Path(path) => {
                found.paths.insert(path, (number, priority));
            }
            Pattern::Glob(glob) => {
                let parsed = GlobBuilder::new(&glob).literal_separator(true).build();
                // The library's error names the glob, as this one does.
                let parsed = parsed.ok();
                globs.add(parsed.ok_or_else(|| ProblemKind::field("glob", glob.as_bytes()))?);
                found.of_globs.push((number, priority));
            }
        }
        Ok(())
    })?;
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    found.globs = globs.build().map_err(invalid)?;
    Ok(found)
}

enum Pattern {
    Path(Vec<u8>),
    Glob(String),
}

fn parse(line: &[u8]) -> Result<(Pattern, i16), ProblemKind> {
    let (path, rest, has_wildcard) = take_path(line);
    let priority = rest.trim_ascii();
    let number = str::from_utf8(priority).ok().and_then(|text| text.parse().ok());
    let what = "priority from -32768 to 32767";
    let number = number.ok_or_else(|| ProblemKind::field(what, priority))?;
    if !has_wildcard {
        return Ok((Pattern::Path(clean_path(&path)?), number));
    }
    let raw = line.get(..line.len() - rest.len()).unwrap_or_default();
    let glob = str::from_utf8(raw).map_err(|_invalid| ProblemKind::field("glob in UTF-8", raw))?;
    let glob = glob.strip_prefix("./").unwrap_or(glob);
    let glob = match glob.trim_end_matches('/').strip_prefix('/') {
        Some(glob) => glob.to_owned(),
        None if glob.contains('/') => glob.to_owned(),
        None => format!("**/{glob}"),
    };
    Ok((Pattern::Glob(glob), number))
}

/// The path at the start of a line, what follows it, and whether it is a glob.
fn take_path(line: &[u8]) -> (Vec<u8>, &[u8], bool) {
    let (mut path, mut has_wildcard, mut rest) = (Vec::new(), false, line);
    while let Some((first, after)) = rest.split_first() {
        let (byte, after) = match (first, after.split_first()) {
            (b'\\', Some((byte, after))) => (*byte, after),
            (b' ' | b'\t', _) => break,
            (byte, _) => {
                has_wildcard |= matches!(byte, b'*' | b'?' | b'[');
                (*byte, after)
            }
        };
        path.push(byte);
        rest = after;
    }
    (path, rest, has_wildcard)
}

impl Priorities {
    /// The files of a tree whose priority is above that of files without one, and those whose is below, each from the
    /// highest to the lowest, equal ones in the tree's order.
    #[must_use]
    pub fn sort(&self, tree: &Tree) -> (Vec<InodeIndex>, Vec<InodeIndex>) {
        let mut of_inodes: Vec<Option<i16>> = vec![None; tree.len()];
        let mut files = Vec::new();
        // The path of each directory that leads to a name, as a length, and its priority.
        let mut above: Vec<(usize, i16)> = Vec::new();
        let mut path: Vec<u8> = Vec::new();
        for visit in tree.walk() {
            above.truncate(visit.depth);
            let (length, inherited) = above.last().copied().unwrap_or((0, 0));
            path.truncate(length);
            if let Some(name) = visit.name {
                path.extend(if length > 0 { &b"/"[..] } else { b"" });
                path.extend(name.as_bytes());
            }
            let priority = self.of_path(&path).unwrap_or(inherited);
            above.push((path.len(), priority));
            let is_file = matches!(tree.get(visit.inode).kind, Kind::Regular { .. });
            if let Some(slot) = of_inodes.get_mut(visit.inode.index())
                && is_file
                && slot.replace(priority).is_none()
            {
                files.push((priority, visit.inode));
            }
        }
        files.sort_by_key(|(priority, _)| -i32::from(*priority));
        let of = |wanted: fn(i16) -> bool| {
            files
                .iter()
                .filter(|(priority, _)| wanted(*priority))
                .map(|(_, inode)| *inode)
                .collect()
        };
        (of(|priority| priority > 0), of(|priority| priority < 0))
    }

    /// The priority of the last line that is about a path.
    fn of_path(&self, path: &[u8]) -> Option<i16> {
        let globs = self
            .globs
            .matches(lith_system::path(path))
            .into_iter()
            .filter_map(|at| self.of_globs.get(at));
        let all = globs.chain(self.paths.get(path));
        all.max_by_key(|(line, _)| *line).map(|(_, priority)| *priority)
    }
}

#[cfg(test)]
mod tests {
    use lith_tree::{Metadata, Name};

    use super::*;

    fn tree() -> Tree {
        let mut tree = Tree::new(Metadata::default());
        for path in ["bin", "bin/a", "bin/b c", "lib", "lib/deep", "lib/deep/x.so", "lib/y.so", "z"]
        {
            let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
            let parent = tree.find(parent.as_bytes()).unwrap();
            let is_directory = ["bin", "lib", "lib/deep"].contains(&path);
            let kind = if is_directory { Kind::directory() } else { Kind::Regular { size: 9 } };
            let name = Name::new(name.as_bytes()).unwrap();
            tree.add(parent, name, Metadata::default(), kind).unwrap();
        }
        tree
    }

    fn sorted(text: &str) -> (Vec<String>, Vec<String>) {
        let tree = tree();
        let (first, last) = priorities(text.as_bytes()).unwrap().sort(&tree);
        let names = |files: Vec<_>| {
            files.into_iter().map(|inode| String::from_utf8(tree.path(inode)).unwrap()).collect()
        };
        (names(first), names(last))
    }

    #[test]
    fn directories_pass_priorities_down_and_the_last_line_counts() {
        let (first, last) =
            sorted("# first\nbin 5\n/bin/a -3\n\nlib -7\nlib/y.so 0\n*.so 9\n/lib/y.so 8");
        assert_eq!(first, ["lib/deep/x.so", "lib/y.so", "bin/b c"]);
        assert_eq!(last, ["bin/a"]);
        let (first, last) = sorted("bin/b\\ c 1\nlib/*/x.so 2\nz -32768\n");
        assert_eq!(first, ["lib/deep/x.so", "bin/b c"]);
        assert_eq!(last, ["z"]);
    }

    #[test]
    fn wrong_lines_are_named() {
        for (text, found) in [
            ("a", "line 1"),
            ("a 32768", "32768 is no priority"),
            ("a 1 2", "1 2 is no priority"),
            ("\n../a 1", "line 2: no file"),
            ("a[ 1", "is no glob"),
        ] {
            let error = priorities(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(found), "{text}: {error}");
        }
    }
}
