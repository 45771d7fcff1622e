//! Serves the parts of a read: decodes or copies each of them into the caller's buffer.

use lith_codec::Window;
use lith_format::{device_table::DevicePa, file_type::FileType};

use super::{
    Content, advance, copy,
    plan::{DIRECT, Part},
};
use crate::{
    cache::Origin,
    decode::Stream,
    error::{Corruption, Fault},
    extent::{Extent, ExtentKind, Place},
    fetch::Fetch,
    image::Role,
    memory,
    metadata::{Metadata, View},
    way::Way,
};

/// What the parts of a run share.
pub(super) struct Serving<'a> {
    /// The stored bytes of the run.
    pub(super) fetch: Option<Fetch<'a>>,
    pub(super) window: &'a mut Window,
    /// Bytes of the whole read.
    pub(super) read: usize,
}

impl Content<'_> {
    /// Fills the first bytes of `buf` with a part; those after them may be overwritten too.
    pub(super) fn serve(
        &self,
        part: &Part,
        buf: &mut [u8],
        serving: &mut Serving<'_>,
    ) -> Result<(), Fault> {
        if let (ExtentKind::Compressed { .. }, None) = (part.extent.kind, &part.ready) {
            return self.serve_compressed(part, buf, serving);
        }
        let buf = buf.get_mut(..part.len).ok_or(Corruption::Address)?;
        if let Some(bytes) = &part.ready {
            self.image.counters.found(Origin::Cached);
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

    /// Fills `buf` with the uncompressed bytes at a place, after the first `skip`.
    pub(super) fn serve_plain(&self, place: Place, skip: u64, buf: &mut [u8]) -> Result<(), Fault> {
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

    /// Directories and symlinks are small and next to each other: the piece read for one serves the next.
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
        let block = self.image.superblock.block;
        let stored = serving.get(at, memory::length(block.size().into()))?;
        // The block is rotated: the part continues at the block's start where it reaches the block's end.
        let first = block.within(part.extent.la.saturating_add(part.skip));
        let (rotated, start) = stored.split_at(memory::length(first.into()).min(stored.len()));
        let (to_start, to_rotated) = buf.split_at_mut(buf.len().min(start.len()));
        copy(start, 0, to_start)?;
        copy(rotated, 0, to_rotated)
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
        let content = packed.content(self.image);
        let decode = |extent: &mut [u8], start| content.read(extent, start);
        let read = self.image.fragments().and_then(|fragments| fragments.read(buf, start, decode));
        read.unwrap_or_else(|| content.read(buf, start))
    }

    fn serve_compressed(
        &self,
        part: &Part,
        buf: &mut [u8],
        serving: &mut Serving<'_>,
    ) -> Result<(), Fault> {
        let stream = Stream::of(&part.extent).ok_or(Corruption::Address)?;
        let (request, cache, key) =
            (self.request(part, serving.read), &self.image.decoded, stream.key());
        let origin = match (self.way(part, serving.read), part.in_place) {
            (Way::InPlace, Some(length)) => {
                cache.fill(key, buf, part.len, |buf| self.decode_in_place(&stream, length, buf))?
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
                let length = |known| memory::length(request.kept(known, cache.longest()));
                let (bytes, origin) =
                    cache.at_least(key, memory::length(request.end()), length, |out| {
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

    /// Decodes the first `out.len()` bytes of an extent.
    pub(super) fn decode(
        &self,
        stream: &Stream<'_>,
        way: Way,
        out: &mut [u8],
        serving: &mut Serving<'_>,
    ) -> Result<(), Fault> {
        let (image, extent) = (self.image, stream.extent);
        image.counters.decode(way, out.len());
        if let Some(stored) = image.stored.get(stream.key(), memory::length(extent.plen)) {
            return stream.decode(&stored, image.superblock.block, out);
        }
        self.with_stored(extent, serving, |stored, _| {
            if (out.len() as u64) < extent.len && matches!(extent.place, Place::Device(_)) {
                image.stored.put(stream.key(), stored);
            }
            stream.decode(stored, image.superblock.block, out)
        })
    }

    /// Decodes the `out.len()` bytes of an extent after the first `skip`, and keeps none.
    fn decode_rolling(
        &self,
        stream: &Stream<'_>,
        skip: u64,
        out: &mut [u8],
        serving: &mut Serving<'_>,
    ) -> Result<(), Fault> {
        self.image.counters.decode(Way::Rolling, memory::length(skip).saturating_add(out.len()));
        self.with_stored(stream.extent, serving, |stored, window| {
            stream.decode_rolling(stored, self.image.superblock.block, skip, (out, window))
        })
    }

    /// Decodes a whole extent in the first `length` bytes of `buf`, at whose end its stored bytes are read.
    fn decode_in_place(
        &self,
        stream: &Stream<'_>,
        length: usize,
        buf: &mut [u8],
    ) -> Result<(), Fault> {
        let (image, extent) = (self.image, stream.extent);
        let Place::Device(at) = extent.place else { return Err(Corruption::Address.into()) };
        let buf = buf.get_mut(..length).ok_or(Corruption::Address)?;
        let start = length.checked_sub(memory::length(extent.plen)).ok_or(Corruption::Address)?;
        let stored = buf.get_mut(start..).expect("`start` is within the first `length` bytes");
        image.counters.fetch(stored.len());
        image.devices.read_content(at, stored)?;
        image.counters.decode(Way::InPlace, memory::length(extent.len));
        stream.decode_in_place(buf, image.superblock.block)
    }

    /// Calls `work` with the stored bytes of an extent and the window.
    fn with_stored(
        &self,
        extent: &Extent,
        serving: &mut Serving<'_>,
        work: impl FnOnce(&[u8], &mut Window) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let plen = memory::length(extent.plen);
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
