//! Updates tables and pictures inside documents, between markers that select what is shown.
//!
//! A document is Markdown. A marker is a line of its own, and what is between it and the line
//! `<!-- end of bench -->` is written anew:
//!
//! ```text
//! <!-- bench: FILE -->                      when, where and by which command FILE.json was measured
//! <!-- bench: FILE SUITE/TABLE -->          one table in full, or more than one: SUITE/TABLE SUITE/OTHER
//! <!-- bench: FILE SUITE/TABLE pivot -->    a column for each series, a line for each variant
//! <!-- bench: FILE SUITE/TABLE picture -->  the plot, as FILE-SUITE-TABLE.svg in the folder of results
//! ```
//!
//! Tables take choices of columns and rows, with `;` between names:
//! `metrics="wall; size" series="lith; SquashFS, kernel" variants="lz4hc,12 4 KiB"`. Without metrics a full table has
//! all, and one with `pivot` the first. Markers in blocks of code are left alone.

mod block;
mod marker;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{self, Component, Path, PathBuf},
};

use anyhow::{Context, anyhow};

use self::{block::Block, marker::Marker};
use super::json;
use crate::results::Results;

const END: &str = "<!-- end of bench -->";

/// Writes the marked parts of a document and its pictures anew, from the results in a folder. Each
/// file that changes is written beside its place and renamed. Returns whether any did. After a
/// failure the document is as it was.
pub(crate) fn update(document: &Path, results: &Path) -> anyhow::Result<bool> {
    let files = changed(document, results)?;
    for (path, text) in &files {
        replace(path, text).with_context(|| format!("{}: can't be written", path.display()))?;
    }
    Ok(!files.is_empty())
}

/// The files that differ from their expected content, with that content. The document is the last one.
fn changed(document: &Path, results: &Path) -> anyhow::Result<Vec<(PathBuf, String)>> {
    let unread = |path: &Path| format!("{}: can't be read", path.display());
    let place = document.canonicalize().with_context(|| unread(document))?;
    let text = fs::read_to_string(&place).with_context(|| unread(document))?;
    // A missing folder is an error only if a marker needs it.
    let folder = results.canonicalize().or_else(|_| path::absolute(results));
    let folder = folder.with_context(|| unread(results))?;

    let mut writer = Writer::new(&place, &folder);
    let new = writer.document(&text).map_err(|(line, reason)| {
        let path = document.display();
        reason.context(format!("{path}, line {line}: a marker that can't be followed"))
    })?;
    let mut files: Vec<_> = writer.pictures.into_iter().collect();
    files.retain(|(path, picture)| fs::read_to_string(path).ok().as_ref() != Some(picture));
    files.extend((new != text).then_some((place, new)));
    Ok(files)
}

/// Writes a document with the results that it has needed so far.
struct Writer<'a> {
    folder: &'a Path,
    /// The folder of results as the document names it.
    prefix: String,
    results: BTreeMap<String, Results>,
    pictures: BTreeMap<PathBuf, String>,
}

impl<'a> Writer<'a> {
    fn new(document: &Path, folder: &'a Path) -> Self {
        let prefix = relative(document.parent().unwrap_or(Path::new("/")), folder);
        Self { folder, prefix, results: BTreeMap::new(), pictures: BTreeMap::new() }
    }

    /// The whole text, or the line of a marker that can't be followed.
    fn document(&mut self, text: &str) -> Result<String, (usize, anyhow::Error)> {
        let unclosed =
            |line: usize| (line, anyhow!("no line `{END}` follows before the next marker"));
        let mut new = String::new();
        let mut open = None;
        let mut code = false;
        for (number, line) in (1..).zip(text.split_inclusive('\n')) {
            let bare = line.trim_end();
            if open.is_none() && (bare.starts_with("```") || bare.starts_with("~~~")) {
                code = !code;
            }
            let marker = if code { None } else { marker::inside(bare) };
            match (open, marker) {
                (Some(begun), Some(_)) => return Err(unclosed(begun)),
                (None, Some(words)) => {
                    let written = self.marked(words).map_err(|reason| (number, reason))?;
                    new.extend([bare, "\n\n", &written, "\n\n"]);
                    open = Some(number);
                }
                (Some(_), None) if bare == END => {
                    open = None;
                    new.push_str(line);
                }
                (None, None) if bare == END && !code => {
                    return Err((number, anyhow!("an end without a beginning")));
                }
                (Some(_), None) => {}
                (None, None) => new.push_str(line),
            }
        }
        open.map_or(Ok(new), |begun| Err(unclosed(begun)))
    }

    /// The text after a marker.
    fn marked(&mut self, words: &str) -> anyhow::Result<String> {
        let marker = Marker::parse(words)?;
        if !self.results.contains_key(&marker.file) {
            let loaded = json::load(&self.folder.join(format!("{}.json", marker.file)))?;
            self.results.insert(marker.file.clone(), loaded);
        }
        let Some(results) = self.results.get(&marker.file) else { return Ok(String::new()) };
        let Block { text, pictures } = Block::of(results, &marker, &self.prefix)?;
        for (name, picture) in pictures {
            self.pictures.insert(self.folder.join(name), picture);
        }
        Ok(text)
    }
}

/// The way from one folder to another, with `/` after each name.
fn relative(from: &Path, to: &Path) -> String {
    let shared = from.components().zip(to.components()).take_while(|(one, other)| one == other);
    let shared = shared.count();
    let up = from.components().skip(shared).map(|_| "../".to_owned());
    let down = to.components().skip(shared);
    let down = down.map(|part: Component<'_>| format!("{}/", part.as_os_str().to_string_lossy()));
    up.chain(down).collect()
}

/// Writes beside the file's place, then renames.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let beside = path.with_file_name(name);
    let done = fs::write(&beside, text).and_then(|()| fs::rename(&beside, path));
    if done.is_err() {
        // The first error matters more than that of removing what is left.
        let _ = fs::remove_file(&beside);
    }
    done
}

#[cfg(test)]
mod tests;
