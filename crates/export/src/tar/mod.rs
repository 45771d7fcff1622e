//! How does a tree become a tar stream?
//!
//! In the PAX format: what does not fit the ustar header of an entry is in a PAX header before it. Entries are in a
//! [`MemberOrder`], directories with a slash at the end of their names and the root as `./`, so that the
//! same tree always gives the same bytes. All names after the first of one inode are hard links. A file with a hole
//! of at least 4 KiB is written in the sparse format of GNU tar, version 1.0. Sockets have no
//! form in a tar and are skipped.

mod entry;
mod error;
mod pax;
mod sparse;

use std::{
    collections::HashMap,
    io::{self, BufWriter, Read, Write},
    iter,
    ops::Range,
    rc::Rc,
};

use lith_tree::{Content, Filesystem, InodeIndex, Kind, Piece, Pieces, Visit, push_name};

use crate::{ExportObserver, Report, Selection, What, report::Counter};
use entry::{BLOCK, Entry, padding};
use sparse::SparseMap;

pub use error::TarError;

/// In which order the members of a tar are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MemberOrder {
    /// That of [`Tree::walk`](lith_tree::Tree::walk): the same tree always gives the same bytes.
    #[default]
    Path,
    /// Files with content come after all other members but hard links to them, and in the order in which their contents are
    /// best read ([`Contents::reading_order`](lith_tree::Contents::reading_order)).
    Stored,
}

/// Writes the selected part of a tree to `output` as a tar stream.
///
/// # Errors
/// [`TarError`]; the tar is then incomplete.
pub fn write_tar(
    fs: Filesystem<'_>,
    selection: &Selection,
    order: MemberOrder,
    output: &mut dyn Write,
    observer: &dyn ExportObserver,
) -> Result<Report, TarError> {
    let mut writer = Writer {
        fs,
        output: BufWriter::with_capacity(BUFFER, output),
        counter: Counter::start(observer, fs.tree, selection),
        firsts: HashMap::new(),
        buffer: vec![0; BUFFER],
        postponed: (order == MemberOrder::Stored).then(Postponed::default),
    };
    let mut path = Vec::new();
    let mut ends = Vec::new();
    for (visit, _) in selection.walk(fs.tree) {
        extend_path(&mut path, &mut ends, &visit);
        writer.write_entry(&path, visit.inode)?;
    }
    writer.write_postponed()?;
    writer.finish()
}

/// Bytes read, and collected for a write, at once.
const BUFFER: usize = 1 << 20;

/// Changes `path` from the previous name's to this one's; `ends` has the lengths of its directories' paths.
fn extend_path(path: &mut Vec<u8>, ends: &mut Vec<usize>, visit: &Visit<'_>) {
    let Some(name) = visit.name else {
        return;
    };
    ends.truncate(visit.depth.saturating_sub(1));
    path.truncate(ends.last().copied().unwrap_or(0));
    push_name(path, name.as_bytes());
    ends.push(path.len());
}

struct Writer<'a> {
    fs: Filesystem<'a>,
    output: BufWriter<&'a mut dyn Write>,
    counter: Counter<'a>,
    /// The first path of each inode with several names.
    firsts: HashMap<InodeIndex, Rc<[u8]>>,
    buffer: Vec<u8>,
    /// What is written at the end; `None`: nothing.
    postponed: Option<Postponed>,
}

/// Members that are written after all others.
#[derive(Default)]
struct Postponed {
    /// Files with content, each once.
    files: Vec<(Box<[u8]>, InodeIndex)>,
    /// Further names of these.
    links: Vec<(Box<[u8]>, InodeIndex)>,
}

impl Writer<'_> {
    fn write_entry(&mut self, path: &[u8], inode: InodeIndex) -> Result<(), TarError> {
        let found = self.fs.tree.get(inode);
        if matches!(found.kind, Kind::Socket) {
            self.counter.skipped(path, What::Socket, None);
            return Ok(());
        }
        if self.counter.is_cancelled() {
            return Err(TarError::Cancelled);
        }
        if let Some(postponed) = &mut self.postponed
            && matches!(found.kind, Kind::Regular { size } if size > 0)
        {
            let is_first = found.nlink() < 2 || self.firsts.insert(inode, path.into()).is_none();
            let list = if is_first { &mut postponed.files } else { &mut postponed.links };
            list.push((path.into(), inode));
            return Ok(());
        }
        if found.as_directory().is_none() && found.nlink() > 1 {
            if let Some(first) = self.firsts.get(&inode).map(Rc::clone) {
                return self.write_header(&Entry::hard_link(found, path, &first));
            }
            self.firsts.insert(inode, path.into());
        }
        let xattrs = self.fs.tree.xattrs.get(found.metadata.xattrs);
        let entry = Entry::new(found, path, xattrs);
        match found.kind {
            Kind::Regular { size } if size > 0 => self.write_file(entry, inode, size),
            _ => self.write_header(&entry),
        }
    }

    fn write_postponed(&mut self) -> Result<(), TarError> {
        let Some(Postponed { files, links }) = self.postponed.take() else { return Ok(()) };
        // From now on, the first name of each is the one that is written first.
        let tree = self.fs.tree;
        let is_file = |inode: &InodeIndex| matches!(tree.get(*inode).kind, Kind::Regular { size } if size > 0);
        self.firsts.retain(|inode, _| !is_file(inode));
        let inodes: Vec<_> = files.iter().map(|(_, inode)| *inode).collect();
        let groups = self.fs.contents.reading_order(&inodes);
        let order = groups.map_or_else(|| (0..files.len()).collect(), |groups| groups.concat());
        let files = order.iter().filter_map(|number| files.get(*number));
        for (path, inode) in files.chain(&links) {
            self.write_entry(path, *inode)?;
        }
        Ok(())
    }

    fn write_header(&mut self, entry: &Entry<'_>) -> Result<(), TarError> {
        self.counter.named(1);
        entry.write(&mut self.output).map_err(TarError::writing)
    }

    fn write_file(
        &mut self,
        mut entry: Entry<'_>,
        inode: InodeIndex,
        size: u64,
    ) -> Result<(), TarError> {
        let content = self.fs.open(inode)?;
        let stored = if let Some(map) = SparseMap::of(&*content, size)? {
            let text = map.encode();
            entry.make_sparse(map.stored().saturating_add(text.len() as u64));
            self.write_header(&entry)?;
            self.write_all(&text)?;
            map.data
        } else {
            self.write_header(&entry)?;
            iter::once(0..size).collect()
        };
        for range in &stored {
            self.copy(&*content, range.clone())?;
        }
        content.check_unchanged()?;
        self.counter.advance(size);
        let length = stored.iter().map(|range| range.end - range.start).sum();
        self.write_all(padding(length))
    }

    fn copy(&mut self, content: &dyn Content, range: Range<u64>) -> Result<(), TarError> {
        let mut pieces = Pieces::new(content, range, &mut self.buffer);
        while let Some(piece) = pieces.advance()? {
            let written = match piece {
                Piece::Data { bytes, .. } => self.output.write_all(bytes),
                Piece::Hole { length, .. } => {
                    io::copy(&mut io::repeat(0).take(length), &mut self.output).map(|_| ())
                }
            };
            written.map_err(TarError::writing)?;
            if self.counter.is_cancelled() {
                return Err(TarError::Cancelled);
            }
        }
        Ok(())
    }

    fn write_all(&mut self, bytes: &[u8]) -> Result<(), TarError> {
        self.output.write_all(bytes).map_err(TarError::writing)
    }

    /// Ends the stream with its two empty blocks.
    fn finish(mut self) -> Result<Report, TarError> {
        self.write_all(&[0; 2 * BLOCK])?;
        self.output.flush().map_err(TarError::writing)?;
        Ok(self.counter.report())
    }
}

#[cfg(test)]
mod tests;
