//! Plans the read of a compressed file: the parts of its extents, and which of them are fetched at once.

use lith_format::device_table::DevicePa;

use super::{Content, advance};
use crate::{
    cache::Bytes,
    decode::Stream,
    error::{Corruption, Fault},
    extent::{Extent, ExtentKind, Place},
    image::Role,
    map::Extents,
    memory,
    way::{Request, Way},
};

/// Uncompressed data of at least so many bytes is read directly into the caller's buffer.
pub(super) const DIRECT: usize = 16 << 10;

/// The most bytes that are read from a device at once, and the most extents of a run.
const RUN_BYTES: usize = 1 << 20;
const RUN_PARTS: usize = 1024;

/// The requested part of an extent.
pub(super) struct Part {
    pub(super) extent: Extent,
    /// Bytes of the extent before it.
    pub(super) skip: u64,
    /// Bytes of it.
    pub(super) len: usize,
    /// The beginning of the extent, if it is decoded already.
    pub(super) ready: Option<Bytes>,
    /// The bytes of the caller's buffer, from the part's first on, in which it is decoded over its stored bytes.
    pub(super) in_place: Option<usize>,
}

/// Contiguous stored bytes on a device.
#[derive(Clone, Copy)]
pub(super) struct Stored {
    pub(super) start: DevicePa,
    pub(super) length: usize,
}

/// Consecutive parts of a file whose stored bytes are contiguous on a device.
#[derive(Default)]
pub(super) struct Run {
    pub(super) parts: Vec<Part>,
    pub(super) stored: Option<Stored>,
}

/// The parts of a read in order.
pub(super) struct Parts<'a> {
    content: Content<'a>,
    extents: Extents<'a>,
    /// The next byte of the file, and the bytes requested from there on.
    at: u64,
    left: usize,
    /// The part that did not fit the last run.
    held: Option<Part>,
}

impl Stored {
    /// Both as one, if `next` follows this one and both are not too long.
    fn join(self, next: Self) -> Option<Self> {
        let distance = next.start.pa.0.checked_sub(self.start.pa.0);
        let follows =
            self.start.device == next.start.device && distance == Some(self.length as u64);
        let length = self.length.checked_add(next.length)?;
        (follows && length <= RUN_BYTES).then_some(Self { start: self.start, length })
    }
}

impl Run {
    /// Adds a part with its stored bytes, if these continue the others.
    fn add(&mut self, part: Part, stored: Option<Stored>) -> Result<(), Part> {
        self.stored = match (self.stored, stored) {
            (old, None) => old,
            (None, new) => new,
            (Some(old), Some(new)) => match old.join(new) {
                Some(joined) => Some(joined),
                None => return Err(part),
            },
        };
        self.parts.push(part);
        Ok(())
    }
}

impl<'a> Parts<'a> {
    /// The parts of the `left` bytes from `at` on.
    pub(super) fn new(content: Content<'a>, at: u64, left: usize) -> Self {
        let extents = Extents::new(content.image, content.inode, content.map, at);
        Self { content, extents, at, left, held: None }
    }

    /// The next run; empty after the last.
    pub(super) fn next_run(&mut self) -> Result<Run, Fault> {
        let mut run = Run::default();
        while run.parts.len() < RUN_PARTS {
            let Some(part) = self.next_part()? else { break };
            let stored = self.content.stored(&part)?;
            if let Err(part) = run.add(part, stored) {
                self.held = Some(part);
                break;
            }
        }
        Ok(run)
    }

    fn next_part(&mut self) -> Result<Option<Part>, Fault> {
        if let Some(part) = self.held.take() {
            return Ok(Some(part));
        }
        if self.left == 0 {
            return Ok(None);
        }
        let extent = self.extents.step().ok_or(Corruption::Address)??;
        let skip = self.at.checked_sub(extent.la).ok_or(Corruption::Address)?;
        let len = memory::length(extent.len.saturating_sub(skip)).min(self.left);
        let mut part = Part { extent, skip, len, ready: None, in_place: None };
        part.ready = self.content.decoded(&part);
        part.in_place = self.content.in_place(&part, self.left);
        self.at = extent.end();
        self.left -= len;
        Ok(Some(part))
    }
}

impl Content<'_> {
    /// The bytes on a device that a part needs, if they are fetched together with its neighbours'.
    fn stored(&self, part: &Part) -> Result<Option<Stored>, Fault> {
        let block = memory::length(self.image.superblock.block.size().into());
        Ok(match (part.extent.kind, part.extent.place) {
            (ExtentKind::Compressed { .. }, Place::Device(start)) => {
                let fetched = part.ready.is_none() && part.in_place.is_none();
                fetched.then(|| Stored { start, length: memory::length(part.extent.plen) })
            }
            (ExtentKind::Plain { interlaced: true }, Place::Device(start)) => {
                Some(Stored { start, length: block })
            }
            (ExtentKind::Plain { .. }, Place::Device(at)) if part.len < DIRECT => {
                Some(Stored { start: advance(at, part.skip)?, length: part.len })
            }
            _ => None,
        })
    }

    /// The extent from the cache, if it is likely to be there: because it is read in parts or for many files.
    fn decoded(&self, part: &Part) -> Option<Bytes> {
        let stream = Stream::of(&part.extent)?;
        let request = self.request(part, part.len);
        if request.is_whole() && !request.shared {
            return None;
        }
        self.image.decoded.get(stream.key(), memory::length(request.end()))
    }

    /// If a part is decoded over its stored bytes: how many of the `left` bytes of the buffer that takes.
    fn in_place(&self, part: &Part, left: usize) -> Option<usize> {
        let stream = Stream::of(&part.extent)?;
        let chosen = part.ready.is_none() && self.way(part, left) == Way::InPlace;
        let on_device = matches!(part.extent.place, Place::Device(_));
        stream.in_place_length().filter(|length| chosen && on_device && *length <= left)
    }

    /// A part as a request, in a read of `read` bytes.
    pub(super) fn request(&self, part: &Part, read: usize) -> Request {
        let (shared, whole) = (self.role != Role::File, self.image.all_files.get().is_some());
        Request { extent: part.extent.len, skip: part.skip, len: part.len, read, shared, whole }
    }

    pub(super) fn way(&self, part: &Part, read: usize) -> Way {
        self.request(part, read).way(self.image.way, self.image.decoded.longest())
    }
}
