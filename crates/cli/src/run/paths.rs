//! Finds what paths and patterns of the command line name in an image or another tree.

use std::{
    collections::HashSet,
    fs,
    io::{self, Read},
    path::Path,
};

use anyhow::Context;
use globset::{GlobBuilder, GlobMatcher};
use lith::{format::file_type::FileType, tree::DisplayPath};

use super::volume::Volume;
use crate::{args::paths::PathArgs, output::error::Place};

/// The requested paths, those of the list after those of the command line. Patterns are replaced by what matches and is of a
/// type that is `wanted`.
pub(crate) fn requested(
    volume: &impl Volume,
    request: &PathArgs,
    wanted: impl Fn(FileType) -> bool,
) -> anyhow::Result<Vec<Vec<u8>>> {
    let given = request.paths.iter().map(|path| path.as_encoded_bytes().to_vec());
    let mut paths = Vec::new();
    for path in given.chain(listed(request)?) {
        match volume.find(&path, false) {
            Ok(_) => {
                paths.push(path);
                continue;
            }
            Err(error) if !is_pattern(&path) => return Err(error),
            Err(_) => {}
        }
        let found = matching(volume, &path, &wanted)?;
        if found.is_empty() {
            return Err(volume.refuse(&path, "nothing matches this pattern"));
        }
        paths.extend(found);
    }
    Ok(paths)
}

/// Whether a path is a pattern, unless there is a file of this name.
pub(crate) fn is_pattern(path: &[u8]) -> bool {
    path.iter().any(|byte| b"*?[{".contains(byte))
}

/// The paths in the file that the command line names.
fn listed(request: &PathArgs) -> anyhow::Result<Vec<Vec<u8>>> {
    let Some(list) = &request.files_from else { return Ok(Vec::new()) };
    let mut bytes = Vec::new();
    let read = if list == Path::new("-") {
        io::stdin().read_to_end(&mut bytes).map(|_length| ())
    } else {
        fs::read(list).map(|read| bytes = read)
    };
    read.with_context(|| format!("{}: cannot read", Place(list)))?;
    let end = if request.null { b'\0' } else { b'\n' };
    let paths = bytes.split(|byte| *byte == end).filter(|path| !path.is_empty());
    let paths: Vec<_> = paths.map(<[u8]>::to_vec).collect();
    // No paths at all mean the whole tree.
    anyhow::ensure!(!paths.is_empty(), "{}: has no paths", Place(list));
    Ok(paths)
}

/// A part of a pattern, between slashes.
enum Part {
    /// `**`: any number of names, also none.
    Any,
    Name(GlobMatcher),
}

/// A directory in which entries may match the parts of a pattern from one on.
struct Step<N> {
    directory: N,
    path: Vec<u8>,
    part: usize,
}

/// The paths that match a pattern, sorted.
fn matching<V: Volume>(
    volume: &V,
    pattern: &[u8],
    wanted: &impl Fn(FileType) -> bool,
) -> anyhow::Result<Vec<Vec<u8>>> {
    let (literal, rest) = split(pattern);
    let parts = rest.iter().map(|part| compile(part)).collect::<anyhow::Result<Vec<_>>>()?;
    let path = literal.join(&b'/');
    let Ok(directory) = volume.find(&path, true) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let mut met = HashSet::new();
    let mut steps = vec![Step { directory, path, part: 0 }];
    while let Some(step) = steps.pop() {
        // A corrupt image can contain a loop of directories.
        if volume.attributes(&step.directory).file_type == FileType::Directory
            && met.insert((volume.id(&step.directory), step.part))
        {
            search(volume, &parts, step, &mut |path, node, part| match part {
                Some(part) => steps.push(Step { directory: node, path, part }),
                None if wanted(volume.attributes(&node).file_type) => found.push(path),
                None => {}
            })?;
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Calls `meet` for each entry of the directory that matches the next part, with the number of the part that what is below
/// it must match, if any is left.
fn search<V: Volume>(
    volume: &V,
    parts: &[Part],
    step: Step<V::Node>,
    meet: &mut dyn FnMut(Vec<u8>, V::Node, Option<usize>),
) -> anyhow::Result<()> {
    let after = |part: usize| Some(part + 1).filter(|next| *next < parts.len());
    let Some(part) = parts.get(step.part) else { return Ok(()) };
    for entry in volume.entries(&step.path, &step.directory)? {
        let entry = entry?;
        let is_match = match part {
            Part::Any => true,
            Part::Name(name) => name.is_match(lith_system::path(&entry.name)),
        };
        if !is_match {
            continue;
        }
        let mut path = step.path.clone();
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(&entry.name);
        let node = volume.node(&path, entry.id)?;
        match (part, after(step.part)) {
            (Part::Any, None) => {
                meet(path.clone(), node.clone(), None);
                meet(path, node, Some(step.part));
            }
            (Part::Any, Some(_)) => meet(path, node, Some(step.part)),
            (Part::Name(_), next) => meet(path, node, next),
        }
    }
    if let (Part::Any, Some(next)) = (part, after(step.part)) {
        meet(step.path, step.directory, Some(next));
    }
    Ok(())
}

/// The parts of a pattern: those before the first with a special character, and the others.
fn split(pattern: &[u8]) -> (Vec<&[u8]>, Vec<&[u8]>) {
    let parts = pattern.split(|byte| *byte == b'/');
    let parts: Vec<_> = parts.filter(|part| !matches!(*part, b"" | b".")).collect();
    let literal = parts.iter().take_while(|part| !is_pattern(part)).count();
    let (literal, rest) = parts.split_at(literal);
    (literal.to_vec(), rest.to_vec())
}

fn compile(part: &[u8]) -> anyhow::Result<Part> {
    if part == b"**" {
        return Ok(Part::Any);
    }
    let place = || format!("the pattern {}", DisplayPath(part));
    let text = str::from_utf8(part).with_context(place)?;
    let glob = GlobBuilder::new(text).literal_separator(true).build().with_context(place)?;
    Ok(Part::Name(glob.compile_matcher()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_starts_at_its_first_special_character() {
        let shown = |pattern: &str| {
            let (literal, rest) = split(pattern.as_bytes());
            let text = |parts: Vec<&[u8]>| String::from_utf8(parts.join(&b'/')).unwrap();
            (text(literal), text(rest))
        };
        for (pattern, literal, rest) in [
            ("/etc/*.d/x", "etc", "*.d/x"),
            ("./a//b/**", "a/b", "**"),
            ("*", "", "*"),
            ("a/{b,c}", "a", "{b,c}"),
            ("a", "a", ""),
        ] {
            assert_eq!(shown(pattern), (literal.to_owned(), rest.to_owned()), "{pattern}");
        }
    }

    #[test]
    fn an_invalid_pattern_is_named() {
        let error = compile(b"a[b").err().unwrap();
        assert!(error.to_string().contains("a[b"), "{error}");
    }
}
