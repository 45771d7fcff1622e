//! How does a tree become a tar stream?
//!
//! In the PAX format: what the ustar header of an entry can't hold stands in a PAX header before it. Entries come in the
//! order of [`Tree::walk`](lith_tree::Tree::walk), directories with a slash at the end of their names and the root as `./`, so that the
//! same tree always gives the same bytes. All names after the first of one inode are hard links. A file with a hole
//! of at least a block of 4 KiB is written in the sparse format of GNU tar, version 1.0. Sockets have no
//! form in a tar and are skipped.

mod entry;
mod pax;
mod sparse;

use std::{
    collections::HashMap,
    io::{self, BufWriter, Read, Write},
    iter,
    ops::Range,
    rc::Rc,
};

use lith_tree::{Content, ContentError, Filesystem, InodeIndex, Kind, Piece, Pieces, Visit};

use crate::{Observer, Report, Selection, What, observer::Counter};
use entry::Entry;
use sparse::SparseMap;

/// Why a tree can't be written as a tar.
#[derive(Debug, thiserror::Error)]
pub enum TarError {
    /// Who read the stream has gone, as `head` does; nothing to complain about.
    #[error("the reader of the tar has closed it")]
    BrokenPipe,
    /// The stream can't be written.
    #[error("cannot write the tar")]
    Write(#[source] io::Error),
    /// A file's bytes can't be had.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The observer asked to give up.
    #[error("cancelled")]
    Cancelled,
}

impl TarError {
    fn writing(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            _ => Self::Write(error),
        }
    }
}

/// Writes the selected part of a tree to `output` as a tar stream.
///
/// # Errors
/// [`TarError`]; what was written so far is then no complete tar.
pub fn write_tar(
    fs: Filesystem<'_>,
    selection: &Selection,
    output: &mut dyn Write,
    observer: &dyn Observer,
) -> Result<Report, TarError> {
    let mut writer = Writer {
        fs,
        output: BufWriter::with_capacity(BUFFER, output),
        counter: Counter::new(observer),
        firsts: HashMap::new(),
        buffer: vec![0; BUFFER],
    };
    let mut path = Vec::new();
    let mut ends = Vec::new();
    for (visit, _) in selection.walk(fs.tree) {
        extend_path(&mut path, &mut ends, &visit);
        writer.write_entry(&path, visit.inode)?;
    }
    writer.finish()
}

/// Bytes read, and gathered for a write, at once.
const BUFFER: usize = 1 << 20;

/// The size that headers have, and that content is filled up to.
const BLOCK: usize = 512;

/// Makes `path`, the path of the name visited before, that of this one; `ends` holds where its directories' paths end.
fn extend_path(path: &mut Vec<u8>, ends: &mut Vec<usize>, visit: &Visit<'_>) {
    let Some(name) = visit.name else {
        return;
    };
    ends.truncate(visit.depth.saturating_sub(1));
    path.truncate(ends.last().copied().unwrap_or(0));
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name.as_bytes());
    ends.push(path.len());
}

struct Writer<'a> {
    fs: Filesystem<'a>,
    output: BufWriter<&'a mut dyn Write>,
    counter: Counter<'a>,
    /// The first path of each inode with several names.
    firsts: HashMap<InodeIndex, Rc<[u8]>>,
    buffer: Vec<u8>,
}

impl Writer<'_> {
    fn write_entry(&mut self, path: &[u8], inode: InodeIndex) -> Result<(), TarError> {
        let found = self.fs.tree.get(inode);
        if matches!(found.kind, Kind::Socket) {
            self.counter.skipped(path, What::Socket, None);
            return Ok(());
        }
        if self.counter.observer.is_cancelled() {
            return Err(TarError::Cancelled);
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
        self.counter.advanced(size);
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
            if self.counter.observer.is_cancelled() {
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

/// The zeros that fill up so many bytes to whole blocks.
fn padding(length: u64) -> &'static [u8] {
    const ZEROS: [u8; BLOCK] = [0; BLOCK];
    let over = usize::try_from(length % BLOCK as u64).unwrap_or(0);
    match over {
        0 => &[],
        _ => ZEROS.get(over..).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests;
