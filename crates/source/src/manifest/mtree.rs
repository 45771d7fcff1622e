//! Parses mtree(5), as bsdtar and the mtree of the BSDs write it.

use std::collections::HashMap;

use lith_tree::{Metadata, Rdev, Timestamp};

use super::{
    entry::{Bytes, Described, Entry, EntryKind, nanoseconds, number, relative, seconds},
    error::ManifestProblem,
    escape::unescape,
};

/// The values of keywords, by their names.
type Keywords<'a> = HashMap<&'a [u8], &'a [u8]>;

/// The files of a list, each with the number of its line.
pub(super) fn parse(text: &[u8]) -> Result<Vec<(usize, Described)>, (usize, ManifestProblem)> {
    let mut parser = Parser::default();
    let mut all = Vec::new();
    for (number, line) in logical_lines(text) {
        let described = parser.line(&line).map_err(|problem| (number, problem))?;
        all.extend(described.map(|described| (number, described)));
    }
    Ok(all)
}

/// Lines with the number of their first part; a backslash at the end of a part joins the next.
fn logical_lines(text: &[u8]) -> Vec<(usize, Vec<u8>)> {
    let mut lines: Vec<(usize, Vec<u8>)> = Vec::new();
    let mut is_open = false;
    for (number, part) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        let part = part.trim_ascii();
        let (part, continues) = match part.strip_suffix(b"\\") {
            Some(start) => (start, true),
            None => (part, false),
        };
        match lines.last_mut().filter(|_| is_open) {
            Some((_, line)) => line.extend_from_slice(&[b" ", part].concat()),
            None => lines.push((number, part.to_vec())),
        }
        is_open = continues;
    }
    lines
}

#[derive(Default)]
struct Parser {
    /// What `/set` says, as text.
    defaults: HashMap<Vec<u8>, Vec<u8>>,
    /// The directory that names without a slash are in.
    directory: Vec<u8>,
}

impl Parser {
    fn line(&mut self, line: &[u8]) -> Result<Option<Described>, ManifestProblem> {
        let mut fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
        let Some(first) = fields.next().filter(|first| !first.starts_with(b"#")) else {
            return Ok(None);
        };
        let keywords = fields.map(split);
        match first {
            b"/set" => {
                let owned = keywords.map(|(name, value)| (name.to_vec(), value.to_vec()));
                self.defaults.extend(owned);
            }
            b"/unset" => keywords.for_each(|(name, _)| match name {
                b"all" => self.defaults.clear(),
                name => drop(self.defaults.remove(name)),
            }),
            b".." => {
                let parent = self.directory.iter().rposition(|byte| *byte == b'/');
                self.directory.truncate(parent.unwrap_or(0));
            }
            name => {
                let defaults = self.defaults.iter().map(|(name, value)| (&**name, &**value));
                let all: Keywords<'_> = defaults.chain(keywords).collect();
                let entry = entry(&all)?;
                let path = self.path(&unescape(name)?);
                if entry.kind == EntryKind::Directory && !name.contains(&b'/') {
                    self.directory.clone_from(&path);
                }
                return Ok(Some((path, entry)));
            }
        }
        Ok(None)
    }

    /// The path of a name: from the root if it has a slash, else in the current directory.
    fn path(&self, name: &[u8]) -> Vec<u8> {
        if name.contains(&b'/') {
            return relative(name);
        }
        relative(&[&*self.directory, b"/", name].concat())
    }
}

/// A keyword and its value, which is empty if it has none.
fn split(field: &[u8]) -> (&[u8], &[u8]) {
    let equals = field.iter().position(|byte| *byte == b'=').unwrap_or(field.len());
    let (name, value) = field.split_at(equals);
    (name, value.get(1..).unwrap_or_default())
}

fn entry(keywords: &Keywords<'_>) -> Result<Entry, ManifestProblem> {
    let get = |name: &[u8]| keywords.get(name).copied();
    let device = || get(b"device").map_or(Err(ManifestProblem::Missing), device);
    let kind = match get(b"type").unwrap_or(b"file") {
        b"file" => EntryKind::Regular {
            size: get(b"size").map(|size| number(size, 10, "size")).transpose()?,
            content: match get(b"contents").or(get(b"content")) {
                Some(path) => Bytes::At(unescape(path)?),
                None => Bytes::Own,
            },
        },
        b"dir" => EntryKind::Directory,
        b"link" => {
            EntryKind::Symlink(unescape(get(b"link").ok_or(ManifestProblem::Missing)?)?.into())
        }
        b"char" => EntryKind::CharDevice(device()?),
        b"block" => EntryKind::BlockDevice(device()?),
        b"fifo" => EntryKind::Fifo,
        b"socket" => EntryKind::Socket,
        other => return Err(ManifestProblem::field("file type", other)),
    };
    let usual = if kind == EntryKind::Directory { 0o755 } else { 0o644 };
    let permissions = get(b"mode").map_or(Ok(usual), |mode| number::<u16>(mode, 8, "mode"))?;
    let metadata = Metadata {
        permissions: permissions & 0o7777,
        uid: owner(get(b"uid"), get(b"uname"))?,
        gid: owner(get(b"gid"), get(b"gname"))?,
        mtime: get(b"time").map_or(Ok(Timestamp::default()), time)?,
        ..Metadata::default()
    };
    Ok(Entry { kind, metadata, xattrs: Vec::new() })
}

/// A number; of names only root's is known, which is 0.
fn owner(id: Option<&[u8]>, name: Option<&[u8]>) -> Result<u32, ManifestProblem> {
    match (id, name) {
        (Some(id), _) => number(id, 10, "owner"),
        (None, None | Some(b"root" | b"wheel")) => Ok(0),
        (None, Some(name)) => Err(ManifestProblem::field("owner's number", name)),
    }
}

/// `SECONDS[.NANOSECONDS]`, the nanoseconds as a number.
fn time(field: &[u8]) -> Result<Timestamp, ManifestProblem> {
    let point = field.iter().position(|byte| *byte == b'.').unwrap_or(field.len());
    let (sec, nsec) = field.split_at(point);
    let nsec = nsec.get(1..).map_or(Ok(0), nanoseconds)?;
    Ok(Timestamp { sec: seconds(sec)?, nsec })
}

/// `[FORMAT,]MAJOR,MINOR`, numbers as C has them.
fn device(field: &[u8]) -> Result<Rdev, ManifestProblem> {
    let parts: Vec<_> = field.split(|byte| *byte == b',').collect();
    let ([major, minor] | [b"native" | b"linux", major, minor]) = *parts.as_slice() else {
        return Err(ManifestProblem::field("device number", field));
    };
    Ok(Rdev { major: c_number(major)?, minor: c_number(minor)? })
}

fn c_number(field: &[u8]) -> Result<u32, ManifestProblem> {
    match field {
        [b'0', b'x' | b'X', digits @ ..] => number(digits, 16, "device number"),
        [b'0', digits @ ..] if !digits.is_empty() => number(digits, 8, "device number"),
        digits => number(digits, 10, "device number"),
    }
}
