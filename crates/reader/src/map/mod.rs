//! Which stored bytes make up a file?
//!
//! [`Map`] is the map of one file, [`Extents`] lists it. Only metadata is read for it, never data.

mod chunk;
mod flat;
mod zmap;

use lith_format::inode::InodeData;

use self::{chunk::Chunks, flat::Flat, zmap::Compressed};
use crate::{
    error::{Corruption, Error, Fault},
    extent::Extent,
    inode::Inode,
    metadata::{Metadata, View},
};

/// The map of a file: where its bytes are stored.
#[derive(Clone, Debug)]
pub(crate) enum Map {
    /// In contiguous blocks, perhaps with an inline tail.
    Flat(Flat),
    /// In chunks.
    Chunks(Chunks),
    /// Compressed or as fragments.
    Compressed(Compressed),
}

impl Map {
    /// The map of an inode that has content.
    pub(crate) fn of(metadata: &dyn Metadata, inode: &Inode) -> Result<Self, Fault> {
        Ok(match inode.data {
            InodeData::Chunked(format) => Self::Chunks(Chunks::new(inode, format)?),
            InodeData::Compressed { .. } => Self::Compressed(Compressed::new(metadata, inode)?),
            InodeData::Blocks { start } => Self::Flat(Flat::new(metadata, inode, start)?),
            // Inodes without content have no map; an empty one does no harm.
            InodeData::Device(_) | InodeData::None => Self::Flat(Flat::default()),
        })
    }

    /// Where the table of extents ends in the inode's metadata space: where it would start if there is none.
    pub(crate) fn table_end(&self, metadata: &dyn Metadata, inode: &Inode) -> Result<u64, Fault> {
        let start = inode.layout_position()?;
        let end = match self {
            Self::Flat(_) => Some(start),
            Self::Chunks(chunks) => chunks.table_end(metadata, inode),
            Self::Compressed(compressed) => compressed.table_end(start),
        };
        Ok(end.ok_or(Corruption::Address)?)
    }

    /// Whether no byte of the file can be in a hole.
    pub(crate) const fn has_no_holes(&self) -> bool {
        match self {
            Self::Flat(flat) => flat.has_no_holes(),
            Self::Chunks(_) => false,
            Self::Compressed(compressed) => compressed.has_no_holes(),
        }
    }
}

/// The extents of a file in order, from some byte on. Ends after an error.
pub struct Extents<'a> {
    inner: Inner<'a>,
    metadata: &'a dyn Metadata,
    inode: Inode,
    /// The byte after the last extent; at first the byte requested.
    next: u64,
    started: bool,
}

enum Inner<'a> {
    Flat(Flat),
    Chunks(Chunks, View<'a>),
    Compressed(zmap::Walk<'a>),
}

impl<'a> Extents<'a> {
    /// The extent that holds byte `la` and all after it.
    pub(crate) fn new(metadata: &'a dyn Metadata, inode: &Inode, map: &Map, la: u64) -> Self {
        let view = View::new(metadata, inode.space);
        let inner = match map {
            Map::Flat(flat) => Inner::Flat(*flat),
            Map::Chunks(chunks) => Inner::Chunks(*chunks, view),
            Map::Compressed(compressed) => Inner::Compressed(compressed.walk(view, la)),
        };
        Self { inner, metadata, inode: *inode, next: la, started: false }
    }

    pub(crate) fn step(&mut self) -> Option<Result<Extent, Fault>> {
        if self.next >= self.inode.size {
            return None;
        }
        let step = match &mut self.inner {
            Inner::Flat(flat) => flat.at(self.metadata, &self.inode, self.next),
            Inner::Chunks(chunks, view) => chunks.at(self.metadata, &self.inode, view, self.next),
            Inner::Compressed(walk) => walk.step(self.metadata, &self.inode, self.next),
        };
        let step = step.and_then(|extent| self.check(extent));
        self.started = true;
        self.next = step.as_ref().map_or(u64::MAX, Extent::end);
        Some(step)
    }

    /// Refuses an extent that does not continue where the last one ended; only the first may start earlier.
    fn check(&self, extent: Extent) -> Result<Extent, Fault> {
        let begins = if self.started { extent.la == self.next } else { extent.la <= self.next };
        if begins && extent.end() > self.next && extent.end() <= self.inode.size {
            return Ok(extent);
        }
        Err(Corruption::ExtentOrder { la: extent.la, len: extent.len, expected: self.next }.into())
    }
}

impl Iterator for Extents<'_> {
    type Item = Result<Extent, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().map(|step| step.map_err(|fault| fault.of(self.inode.nid)))
    }
}

impl std::iter::FusedIterator for Extents<'_> {}
