//! Which stored bytes make up a file? No data is read to answer.

mod chunk;
mod flat;
mod zmap;

use lith_format::{
    addr::{Blkaddr, Pa},
    compression::Algorithm,
    device_table::DevicePa,
    inode::{InodeData, Layout},
};

use self::{chunk::Chunks, flat::Flat, zmap::Compressed};
use crate::{
    error::{Corruption, Error, Fault},
    image::Image,
    inode::Inode,
    metadata::{Space, View},
};

/// A run of a file's bytes that is stored in one way and place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// Its first byte in the file.
    pub la: u64,
    /// Its bytes in the file, at least 1.
    pub len: u64,
    /// How it is stored.
    pub kind: ExtentKind,
    /// Where it is stored.
    pub place: Place,
    /// Its bytes there; 0 for a hole.
    pub plen: u64,
}

/// How the bytes of an extent are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExtentKind {
    /// Not at all: zeros.
    Hole,
    /// As they are, in blocks in a row.
    Flat,
    /// As they are, beside the inode.
    Inline,
    /// As they are, in chunks.
    Chunk,
    /// As they are, in a compressed file.
    Plain {
        /// Rotated within their block, so that each stands where its position in the file falls in a block.
        interlaced: bool,
    },
    /// As one compressed stream.
    Compressed {
        /// By which algorithm.
        algorithm: Algorithm,
        /// The stream may hold more than the extent.
        partial: bool,
    },
    /// In the packed inode.
    Fragment,
}

/// Where the bytes of an extent are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Nowhere, as a hole.
    Nowhere,
    /// On a device.
    Device(DevicePa),
    /// Beside the inode.
    Metadata {
        /// Where positions are counted.
        space: Space,
        /// The first byte.
        position: u64,
    },
    /// In the content of the packed inode.
    Packed {
        /// The first byte there.
        offset: u64,
    },
}

impl ExtentKind {
    /// How the bytes are stored, in one word: the algorithm's name for those that are compressed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hole => "hole",
            Self::Flat => "flat",
            Self::Inline => "inline",
            Self::Chunk => "chunk",
            Self::Plain { .. } => "plain",
            Self::Compressed { algorithm, .. } => algorithm.name(),
            Self::Fragment => "fragment",
        }
    }
}

impl Extent {
    /// The first byte of the file behind it.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.la.saturating_add(self.len)
    }

    const fn hole(la: u64, len: u64) -> Self {
        Self { la, len, kind: ExtentKind::Hole, place: Place::Nowhere, plen: 0 }
    }
}

/// Where all of a file's bytes are.
#[derive(Clone, Debug)]
pub(crate) enum Map {
    /// In a row, the tail perhaps beside the inode.
    Flat(Flat),
    /// In chunks.
    Chunks(Chunks),
    /// Compressed or as fragments.
    Compressed(Compressed),
}

impl Map {
    /// The map of an inode that has content.
    pub(crate) fn of(image: &Image, inode: &Inode) -> Result<Self, Fault> {
        Ok(match inode.data {
            InodeData::Chunked(format) => Self::Chunks(Chunks::new(inode, format)?),
            InodeData::Compressed { .. } => Self::Compressed(Compressed::new(image, inode)?),
            InodeData::Blocks { start } => Self::Flat(Flat::new(image, inode, start)?),
            // Inodes without content have no map; an empty one does no harm.
            InodeData::Device(_) | InodeData::None => Self::Flat(Flat::default()),
        })
    }

    /// Where the table ends that tells where the bytes are, in the inode's metadata space: where it would begin if there
    /// is none.
    pub(crate) fn table_end(&self, image: &Image, inode: &Inode) -> Result<u64, Fault> {
        let start = inode.layout_position()?;
        let end = match self {
            Self::Flat(_) => Some(start),
            Self::Chunks(chunks) => chunks.table_end(image, inode),
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
    image: &'a Image,
    inode: Inode,
    /// The byte behind the last extent, or the one that was asked for.
    next: u64,
    started: bool,
}

enum Inner<'a> {
    Flat(Flat),
    Chunks(Chunks, View<'a>),
    Compressed(zmap::Walk<'a>),
}

impl<'a> Extents<'a> {
    /// The extent that holds byte `la` and all behind it.
    pub(crate) fn new(image: &'a Image, inode: &Inode, map: &Map, la: u64) -> Self {
        let view = View::new(image, inode.space);
        let inner = match map {
            Map::Flat(flat) => Inner::Flat(*flat),
            Map::Chunks(chunks) => Inner::Chunks(*chunks, view),
            Map::Compressed(compressed) => Inner::Compressed(compressed.walk(view, la)),
        };
        Self { inner, image, inode: *inode, next: la, started: false }
    }

    pub(crate) fn step(&mut self) -> Option<Result<Extent, Fault>> {
        if self.next >= self.inode.size {
            return None;
        }
        let step = match &mut self.inner {
            Inner::Flat(flat) => flat.at(self.image, &self.inode, self.next),
            Inner::Chunks(chunks, view) => chunks.at(self.image, &self.inode, view, self.next),
            Inner::Compressed(walk) => walk.step(self.image, &self.inode, self.next),
        };
        let step = step.and_then(|extent| self.check(extent));
        self.started = true;
        self.next = step.as_ref().map_or(u64::MAX, Extent::end);
        Some(step)
    }

    /// Refuses an extent that does not go on where the last one ended; only the first may begin earlier.
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

/// Where byte `la` lies that is `relative` bytes behind the start of block `start`.
fn place(image: &Image, device: u16, start: Blkaddr, relative: u64) -> Result<Place, Fault> {
    let first = start.to_pa(image.superblock().block).ok_or(Corruption::Address)?;
    let pa = first.0.checked_add(relative).ok_or(Corruption::Address)?;
    Ok(Place::Device(image.devices.resolve(device, Pa(pa))?))
}

/// Whether the layout keeps the tail beside the inode.
const fn is_inline(layout: Layout) -> bool {
    matches!(layout, Layout::FlatInline)
}
