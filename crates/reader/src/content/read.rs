//! Reads the content of an inode, and decodes it ahead into the cache.

use super::{Content, plan::Parts, serve::Serving};
use crate::{
    cache::Origin,
    decode::Stream,
    error::{Corruption, Error, Fault},
    extent::Place,
    fetch::{Fetch, Scratch},
    image::Role,
    map::{Extents, Map},
    memory,
    way::Way,
};

impl Content<'_> {
    /// Fills `buf` with the bytes from `position` on. [`Error::BeyondEnd`] if the content ends before.
    pub(crate) fn read(&self, buf: &mut [u8], position: u64) -> Result<(), Fault> {
        let (nid, size, length) = (self.inode.nid, self.inode.size, buf.len() as u64);
        if position.checked_add(length).is_none_or(|end| end > size) {
            return Err(Error::BeyondEnd { nid, position, length, size }.into());
        }
        // An error in a special inode's content names that inode, not the file that refers to it.
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

    /// Reads uncompressed content, which needs no buffers and no plan.
    fn fill_plain(&self, buf: &mut [u8], position: u64) -> Result<(), Fault> {
        let mut extents = Extents::new(self.image, self.inode, self.map, position);
        let (mut rest, mut at) = (buf, position);
        while !rest.is_empty() {
            let extent = extents.step().ok_or(Corruption::Address)??;
            let skip = at.checked_sub(extent.la).ok_or(Corruption::Address)?;
            let len = memory::length(extent.len.saturating_sub(skip)).min(rest.len());
            let (now, later) = rest.split_at_mut(len);
            self.serve_plain(extent.place, skip, now)?;
            (rest, at) = (later, extent.end());
        }
        Ok(())
    }

    fn fill_by_runs(&self, buf: &mut [u8], position: u64) -> Result<(), Fault> {
        let (image, read) = (self.image, buf.len());
        let mut parts = Parts::new(*self, position, read);
        image.pool.lend(|Scratch { stored, window }| {
            let mut rest = buf;
            while !rest.is_empty() {
                let run = parts.next_run()?;
                let fetch = run
                    .stored
                    .map(|run| Fetch::new(image.source(), &mut *stored, run.start, run.length));
                let mut serving = Serving { fetch, window: &mut *window, read };
                for part in &run.parts {
                    self.serve(part, rest, &mut serving)?;
                    rest = rest
                        .get_mut(part.len..)
                        .expect("the parts of a read are as long as its buffer");
                }
            }
            Ok(())
        })
    }

    /// Decodes the extents that hold the `length` bytes from `position` on into the cache, up to the end of the file.
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
        let (image, cache) = (self.image, &self.image.decoded);
        let length = memory::length(stream.extent.len);
        if length > cache.longest() || cache.get(stream.key(), length).is_some() {
            return Ok(());
        }
        let (_, origin) = image.pool.lend(|Scratch { stored, window }| {
            let plen = memory::length(stream.extent.plen);
            let fetch = match stream.extent.place {
                Place::Device(at) => Some(Fetch::new(image.source(), stored, at, plen)),
                _ => None,
            };
            let mut serving = Serving { fetch, window, read: length };
            let decode = |out: &mut [u8]| self.decode(stream, Way::Buffered, out, &mut serving);
            cache.at_least(stream.key(), length, |_| length, decode)
        })?;
        if origin == Origin::Loaded {
            image.counters.ahead();
        }
        Ok(())
    }
}
