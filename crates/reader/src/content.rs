//! How do a file's extents become its bytes?

use lith_codec::Window;
use lith_format::{addr::Pa, device_table::DevicePa, file_type::FileType};

use crate::{
    cache::{Bytes, Origin},
    decode::Stream,
    error::{Corruption, Error, Fault},
    fetch::{Fetch, Scratch},
    image::Image,
    inode::Inode,
    map::{Extent, ExtentKind, Extents, Map, Place},
    metadata::View,
    way::{Way, Wish},
};

/// Plain data of at least so many bytes goes straight to where it is wanted.
const DIRECT: usize = 16 << 10;

/// The most that is read from a device at once, and how many extents at once are looked for.
const RUN_BYTES: usize = 1 << 20;
const RUN_PARTS: usize = 1024;

/// What an inode's content is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Role {
    /// To be read by a caller.
    File,
    /// To hold fragments of many files.
    Packed,
    /// To hold inodes.
    Metabox,
}

impl Role {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Packed => "packed",
            Self::Metabox => "metabox",
        }
    }
}

/// An inode whose decoded extents are kept, since it holds parts of many others.
pub(crate) struct Shared {
    pub(crate) inode: Inode,
    pub(crate) map: Map,
    pub(crate) role: Role,
}

impl Shared {
    pub(crate) const fn content<'a>(&'a self, image: &'a Image) -> Content<'a> {
        Content { image, inode: &self.inode, map: &self.map, role: self.role }
    }
}

/// The bytes of an inode.
#[derive(Clone, Copy)]
pub(crate) struct Content<'a> {
    pub(crate) image: &'a Image,
    pub(crate) inode: &'a Inode,
    pub(crate) map: &'a Map,
    pub(crate) role: Role,
}

/// The part of an extent that is wanted.
struct Part {
    extent: Extent,
    /// Bytes of the extent before it.
    skip: u64,
    /// Bytes of it.
    len: usize,
    /// The beginning of the extent, if it is decoded already.
    ready: Option<Bytes>,
    /// The bytes of the caller's buffer from the part's first on that it is decoded in, over its stored bytes.
    in_place: Option<usize>,
}

/// Parts that follow each other in a file, of which the stored ones follow each other on a device too.
#[derive(Default)]
struct Run {
    parts: Vec<Part>,
    /// Where the stored bytes begin, and how many they are.
    stored: Option<(DevicePa, usize)>,
}

/// The parts of a read in order.
struct Parts<'a> {
    content: Content<'a>,
    extents: Extents<'a>,
    /// The next byte of the file, and how many are wanted from there on.
    at: u64,
    left: usize,
    /// What did not fit the last run.
    held: Option<Part>,
}

/// What a run's parts are served with.
struct Serving<'a> {
    fetch: Option<Fetch<'a>>,
    window: &'a mut Window,
    /// Bytes that the whole read asks for.
    read: usize,
}

impl Run {
    /// Adds a part, whose stored bytes are given, if it can be read together with the others.
    fn add(&mut self, part: Part, stored: Option<(DevicePa, usize)>) -> Result<(), Part> {
        let joined = match (self.stored, stored) {
            (old, None) => old,
            (None, new) => new,
            (Some((start, length)), Some((at, more))) => {
                let behind = start.device == at.device
                    && at.pa.0.checked_sub(start.pa.0) == Some(length as u64);
                match length.checked_add(more).filter(|length| behind && *length <= RUN_BYTES) {
                    Some(length) => Some((start, length)),
                    None => return Err(part),
                }
            }
        };
        self.stored = joined;
        self.parts.push(part);
        Ok(())
    }
}

impl Parts<'_> {
    /// The next run; empty behind the last.
    fn next_run(&mut self) -> Result<Run, Fault> {
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
        let len = size(extent.len.saturating_sub(skip)).min(self.left);
        let mut part = Part { extent, skip, len, ready: None, in_place: None };
        part.ready = self.content.decoded(&part);
        part.in_place = self.content.in_place(&part, self.left);
        self.at = extent.end();
        self.left -= len;
        Ok(Some(part))
    }
}

impl Content<'_> {
    /// Fills `buf` with the bytes from `position` on, which must be there.
    pub(crate) fn read(&self, buf: &mut [u8], position: u64) -> Result<(), Fault> {
        let (nid, size, length) = (self.inode.nid, self.inode.size, buf.len() as u64);
        if position.checked_add(length).is_none_or(|end| end > size) {
            return Err(Error::BeyondEnd { nid, position, length, size }.into());
        }
        self.fill(buf, position).map_err(|fault| match self.role {
            Role::File => fault,
            Role::Packed | Role::Metabox => fault.of(nid).into(),
        })
    }

    fn fill(&self, buf: &mut [u8], position: u64) -> Result<(), Fault> {
        match self.map {
            Map::Flat(_) | Map::Chunks(_) => self.fill_plain(buf, position)?,
            Map::Compressed(_) => self.fill_by_runs(buf, position)?,
        }
        if self.role == Role::File {
            self.image.counters.serve(buf.len());
        }
        Ok(())
    }

    /// What is stored as it is needs no buffers and no plan.
    fn fill_plain(&self, buf: &mut [u8], position: u64) -> Result<(), Fault> {
        let mut extents = Extents::new(self.image, self.inode, self.map, position);
        let (mut rest, mut at) = (buf, position);
        while !rest.is_empty() {
            let extent = extents.step().ok_or(Corruption::Address)??;
            let skip = at.checked_sub(extent.la).ok_or(Corruption::Address)?;
            let len = size(extent.len.saturating_sub(skip)).min(rest.len());
            let (now, later) = rest.split_at_mut(len);
            self.serve_plain(extent.place, skip, now)?;
            (rest, at) = (later, extent.end());
        }
        Ok(())
    }

    fn fill_by_runs(&self, buf: &mut [u8], position: u64) -> Result<(), Fault> {
        let (image, read) = (self.image, buf.len());
        let extents = Extents::new(image, self.inode, self.map, position);
        let mut parts = Parts { content: *self, extents, at: position, left: read, held: None };
        let mut lease = image.pool.lease();
        let Scratch { stored, window } = &mut *lease;
        let mut rest = buf;
        while !rest.is_empty() {
            let run = parts.next_run()?;
            let source = (&image.devices, &image.counters);
            let fetch = run.stored.map(|(at, len)| Fetch::new(source, &mut *stored, at, len));
            let mut serving = Serving { fetch, window: &mut *window, read };
            for part in &run.parts {
                self.serve(part, rest, &mut serving)?;
                rest = rest.get_mut(part.len..).unwrap_or_default();
            }
        }
        Ok(())
    }

    /// Decodes the extents that hold the `length` bytes from `position` on into the cache, as far as there are any.
    pub(crate) fn prepare(&self, position: u64, length: u64) -> Result<(), Fault> {
        let end = position.saturating_add(length).min(self.inode.size);
        let mut extents = Extents::new(self.image, self.inode, self.map, position);
        let mut at = position;
        while at < end {
            let extent = extents.step().ok_or(Corruption::Address)??;
            let next = extent.end();
            match (extent.place, Stream::of(&extent)) {
                (_, Some(stream)) => self.prepare_extent(&stream)?,
                (Place::Packed { offset }, None) if self.role == Role::File => {
                    if let Some(packed) = &self.image.packed {
                        let from = offset.saturating_add(at.saturating_sub(extent.la));
                        packed.content(self.image).prepare(from, next.min(end) - at)?;
                    }
                }
                _ => {}
            }
            at = next;
        }
        Ok(())
    }

    fn prepare_extent(&self, stream: &Stream<'_>) -> Result<(), Fault> {
        let (image, cache, length) = (self.image, &self.image.decoded, size(stream.extent.len));
        if length > cache.longest() || cache.get(stream.key(), length).is_some() {
            return Ok(());
        }
        let mut lease = image.pool.lease();
        let Scratch { stored, window } = &mut *lease;
        let fetch = match stream.extent.place {
            Place::Device(at) => {
                let source = (&image.devices, &image.counters);
                Some(Fetch::new(source, stored, at, size(stream.extent.plen)))
            }
            _ => None,
        };
        let mut serving = Serving { fetch, window, read: length };
        let (_, origin) = cache.at_least(
            stream.key(),
            length,
            |_| length,
            |out| self.decode(stream, Way::Buffered, out, &mut serving),
        )?;
        if origin == Origin::Loaded {
            image.counters.ahead();
        }
        Ok(())
    }

    /// The bytes on a device that a part needs, if they are to be fetched together with its neighbours'.
    fn stored(&self, part: &Part) -> Result<Option<(DevicePa, usize)>, Fault> {
        let block = size(self.image.superblock().block.size().into());
        Ok(match (part.extent.kind, part.extent.place) {
            (ExtentKind::Compressed { .. }, Place::Device(at)) => {
                let here = part.ready.is_none() && part.in_place.is_none();
                here.then(|| (at, size(part.extent.plen)))
            }
            (ExtentKind::Plain { interlaced: true }, Place::Device(at)) => Some((at, block)),
            (ExtentKind::Plain { .. }, Place::Device(at)) if part.len < DIRECT => {
                Some((advance(at, part.skip)?, part.len))
            }
            _ => None,
        })
    }

    /// What is at hand of an extent that is likely to have been decoded: parts of it are read at several times.
    fn decoded(&self, part: &Part) -> Option<Bytes> {
        let stream = Stream::of(&part.extent)?;
        let wish = self.wish(part, part.len);
        if wish.is_whole() && !wish.shared {
            return None;
        }
        self.image.decoded.get(stream.key(), size(wish.end()))
    }

    /// Whether a part is to be decoded over its stored bytes, in how many of the `left` bytes of the buffer.
    fn in_place(&self, part: &Part, left: usize) -> Option<usize> {
        let stream = Stream::of(&part.extent)?;
        let wanted = part.ready.is_none() && self.way(part, left) == Way::InPlace;
        let on_device = matches!(part.extent.place, Place::Device(_));
        stream.room_in_place().filter(|room| wanted && on_device && *room <= left)
    }

    /// Fills the first bytes of `buf`; what is behind may be overwritten too.
    fn serve(&self, part: &Part, buf: &mut [u8], serving: &mut Serving<'_>) -> Result<(), Fault> {
        if let (ExtentKind::Compressed { .. }, None) = (part.extent.kind, &part.ready) {
            return self.serve_compressed(part, buf, serving);
        }
        let buf = buf.get_mut(..part.len).ok_or(Corruption::Address)?;
        if let Some(bytes) = &part.ready {
            self.image.counters.found(Origin::Kept);
            return copy(bytes, part.skip, buf);
        }
        match (part.extent.kind, part.extent.place) {
            (ExtentKind::Plain { interlaced: true }, Place::Device(at)) => {
                self.serve_interlaced(part, at, buf, serving)
            }
            (ExtentKind::Plain { .. }, Place::Device(at)) if buf.len() < DIRECT => {
                let at = advance(at, part.skip)?;
                buf.copy_from_slice(serving.get(at, buf.len())?);
                Ok(())
            }
            (_, place) => self.serve_plain(place, part.skip, buf),
        }
    }

    /// What is stored as it is at a place, behind its first `skip` bytes.
    fn serve_plain(&self, place: Place, skip: u64, buf: &mut [u8]) -> Result<(), Fault> {
        match place {
            Place::Nowhere => {
                buf.fill(0);
                Ok(())
            }
            Place::Device(at) => self.serve_flat(advance(at, skip)?, buf),
            Place::Metadata { space, position } => {
                let position = position.checked_add(skip).ok_or(Corruption::Address)?;
                self.image.read_metadata(space, position, buf)
            }
            Place::Packed { offset } => self.serve_fragment(offset, skip, buf),
        }
    }

    /// Directories and symlinks lie side by side and are small: what is read of one serves the next.
    fn serve_flat(&self, at: DevicePa, buf: &mut [u8]) -> Result<(), Fault> {
        match self.inode.file_type {
            FileType::Regular => {
                self.image.counters.fetch(buf.len());
                self.image.devices.read_content(at, buf)
            }
            _ => self.image.devices.read_cached(at, buf),
        }
    }

    fn serve_interlaced(
        &self,
        part: &Part,
        at: DevicePa,
        buf: &mut [u8],
        serving: &mut Serving<'_>,
    ) -> Result<(), Fault> {
        let block = self.image.superblock().block;
        let stored = serving.get(at, size(block.size().into()))?;
        let first = block.within(part.extent.la.saturating_add(part.skip));
        let (before, behind) = stored.split_at(size(first.into()).min(stored.len()));
        let (head, tail) = buf.split_at_mut(buf.len().min(behind.len()));
        copy(behind, 0, head)?;
        copy(before, 0, tail)
    }

    fn serve_fragment(&self, offset: u64, skip: u64, buf: &mut [u8]) -> Result<(), Fault> {
        if self.role == Role::Packed {
            return Err(Corruption::NestedFragment.into());
        }
        let packed = self.image.packed.as_ref().ok_or(Corruption::NoPackedInode)?;
        let (length, size) = (buf.len() as u64, packed.inode.size);
        let start = offset
            .checked_add(skip)
            .filter(|start| start.checked_add(length).is_some_and(|end| end <= size));
        let start = start.ok_or(Corruption::FragmentBeyondPacked { offset, length, size })?;
        packed.content(self.image).read(buf, start)
    }

    fn wish(&self, part: &Part, read: usize) -> Wish {
        let shared = self.role != Role::File;
        Wish { extent: part.extent.len, skip: part.skip, wanted: part.len, read, shared }
    }

    fn serve_compressed(
        &self,
        part: &Part,
        buf: &mut [u8],
        serving: &mut Serving<'_>,
    ) -> Result<(), Fault> {
        let stream = Stream::of(&part.extent).ok_or(Corruption::Address)?;
        let (wish, cache, key) = (self.wish(part, serving.read), &self.image.decoded, stream.key());
        let origin = match (self.way(part, serving.read), part.in_place) {
            (Way::InPlace, Some(room)) => {
                cache.fill(key, buf, part.len, |buf| self.decode_in_place(&stream, room, buf))?
            }
            (Way::Direct | Way::InPlace, _) => cache.fill(key, buf, part.len, |buf| {
                let out = buf.get_mut(..part.len).ok_or(Corruption::Address)?;
                self.decode(&stream, Way::Direct, out, serving)
            })?,
            (Way::Rolling, _) => {
                let out = buf.get_mut(..part.len).ok_or(Corruption::Address)?;
                self.decode_rolling(&stream, part.skip, out, serving)?;
                Origin::Loaded
            }
            (Way::Buffered, _) => {
                let length = |known| size(wish.kept(known, cache.longest()));
                let (bytes, origin) = cache.at_least(key, size(wish.end()), length, |out| {
                    self.decode(&stream, Way::Buffered, out, serving)
                })?;
                copy(&bytes, part.skip, buf.get_mut(..part.len).ok_or(Corruption::Address)?)?;
                cache.recycle(bytes);
                origin
            }
        };
        self.image.counters.found(origin);
        Ok(())
    }

    fn way(&self, part: &Part, read: usize) -> Way {
        self.wish(part, read).way(self.image.way, self.image.decoded.longest())
    }

    /// Decodes the first `out.len()` bytes of an extent.
    fn decode(
        &self,
        stream: &Stream<'_>,
        way: Way,
        out: &mut [u8],
        serving: &mut Serving<'_>,
    ) -> Result<(), Fault> {
        let (image, extent) = (self.image, stream.extent);
        image.counters.decode(way, out.len());
        if let Some(stored) = image.stored.get(stream.key(), size(extent.plen)) {
            return stream.decode(&stored, image.superblock().block, out);
        }
        self.with_stored(extent, serving, |stored, _| {
            if (out.len() as u64) < extent.len && matches!(extent.place, Place::Device(_)) {
                image.stored.put(stream.key(), stored);
            }
            stream.decode(stored, image.superblock().block, out)
        })
    }

    /// Decodes the `out.len()` bytes of an extent behind the first `skip`, and keeps none.
    fn decode_rolling(
        &self,
        stream: &Stream<'_>,
        skip: u64,
        out: &mut [u8],
        serving: &mut Serving<'_>,
    ) -> Result<(), Fault> {
        self.image.counters.decode(Way::Rolling, size(skip).saturating_add(out.len()));
        self.with_stored(stream.extent, serving, |stored, window| {
            stream.decode_rolling(stored, self.image.superblock().block, skip, (out, window))
        })
    }

    /// Decodes a whole extent in the first `room` bytes of `buf`, where its stored bytes are read to.
    fn decode_in_place(
        &self,
        stream: &Stream<'_>,
        room: usize,
        buf: &mut [u8],
    ) -> Result<(), Fault> {
        let (image, extent) = (self.image, stream.extent);
        let Place::Device(at) = extent.place else { return Err(Corruption::Address.into()) };
        let buf = buf.get_mut(..room).ok_or(Corruption::Address)?;
        let start = room.checked_sub(size(extent.plen)).ok_or(Corruption::Address)?;
        let stored = buf.get_mut(start..).unwrap_or_default();
        image.counters.fetch(stored.len());
        image.devices.read_content(at, stored)?;
        image.counters.decode(Way::InPlace, size(extent.len));
        stream.decode_in_place(buf, image.superblock().block)
    }

    /// Calls `work` with the stored bytes of an extent, and the window.
    fn with_stored(
        &self,
        extent: &Extent,
        serving: &mut Serving<'_>,
        work: impl FnOnce(&[u8], &mut Window) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let plen = size(extent.plen);
        match extent.place {
            Place::Device(at) => {
                let fetch = serving.fetch.as_mut().ok_or(Corruption::Address)?;
                work(fetch.get(at, plen)?, serving.window)
            }
            Place::Metadata { space, position } => {
                let mut view = View::new(self.image, space);
                if let Some(stored) = view.slice(position, plen)? {
                    return work(stored, serving.window);
                }
                let mut stored = vec![0; plen];
                view.read(position, &mut stored)?;
                work(&stored, serving.window)
            }
            Place::Nowhere | Place::Packed { .. } => Err(Corruption::Address.into()),
        }
    }
}

impl Serving<'_> {
    /// Stored bytes of the run.
    fn get(&mut self, at: DevicePa, length: usize) -> Result<&[u8], Fault> {
        self.fetch.as_mut().ok_or(Corruption::Address)?.get(at, length)
    }
}

fn advance(at: DevicePa, bytes: u64) -> Result<DevicePa, Fault> {
    let pa = at.pa.0.checked_add(bytes).ok_or(Corruption::Address)?;
    Ok(DevicePa { device: at.device, pa: Pa(pa) })
}

/// A size in memory of what the format keeps far below 4 GiB.
fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

fn copy(bytes: &[u8], skip: u64, buf: &mut [u8]) -> Result<(), Fault> {
    let start = size(skip);
    let end = start.checked_add(buf.len()).ok_or(Corruption::Address)?;
    buf.copy_from_slice(bytes.get(start..end).ok_or(Corruption::Address)?);
    Ok(())
}
