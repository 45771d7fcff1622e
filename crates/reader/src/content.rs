//! How do a file's extents become its bytes?

use lith_format::{
    addr::{La, Pa},
    device_table::DevicePa,
    file_type::FileType,
};

use crate::{
    decode::Stream,
    error::{Corruption, Error, Fault},
    image::Image,
    inode::Inode,
    map::{Extent, ExtentKind, Extents, Map, Place},
    metadata::View,
    scratch::{Lease, Window},
};

/// Plain data of at least so many bytes goes straight to where it is wanted, past the window.
const DIRECT: usize = 16 << 10;

/// An extent up to this length is decoded as a whole whatever part of it is wanted; of a longer one at least this
/// much, and twice what is wanted, so that reading it bit by bit decodes each byte about twice.
const EAGER: u64 = 512 << 10;

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
struct Part<'a> {
    extent: &'a Extent,
    /// Bytes of the extent before it.
    skip: u64,
    /// Bytes of the file that will be wanted from its start on.
    wanted: usize,
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

    fn fill(&self, mut buf: &mut [u8], position: u64) -> Result<(), Fault> {
        let mut lease = Lease::new(&self.image.pool, self.inode.nid);
        let mut extents = Extents::new(self.image, self.inode, self.map, position);
        let mut at = position;
        while !buf.is_empty() {
            let extent = extents.step().ok_or(Corruption::Address)??;
            let skip = at.checked_sub(extent.la).ok_or(Corruption::Address)?;
            let rest = usize::try_from(extent.len.saturating_sub(skip)).unwrap_or(usize::MAX);
            let part = Part { extent: &extent, skip, wanted: buf.len() };
            let (now, later) = buf.split_at_mut(rest.min(buf.len()));
            self.read_part(&part, now, &mut lease)?;
            at = extent.end();
            buf = later;
        }
        Ok(())
    }

    fn read_part(
        &self,
        part: &Part<'_>,
        buf: &mut [u8],
        lease: &mut Lease<'_>,
    ) -> Result<(), Fault> {
        match (part.extent.kind, part.extent.place) {
            (ExtentKind::Compressed { algorithm, partial }, _) => {
                let stream = Stream { extent: part.extent, algorithm, partial };
                self.read_compressed(part, &stream, buf, lease)
            }
            (ExtentKind::Plain { interlaced: true }, Place::Device(at)) => {
                self.read_interlaced(part, at, buf, &mut lease.get().window)
            }
            (ExtentKind::Plain { .. }, Place::Device(at)) if buf.len() < DIRECT => {
                let at = advance(at, part.skip)?;
                let window = &mut lease.get().window;
                buf.copy_from_slice(window.get(&self.image.devices, at, buf.len(), part.wanted)?);
                Ok(())
            }
            (_, Place::Nowhere) => {
                buf.fill(0);
                Ok(())
            }
            (_, Place::Device(at)) => self.read_flat(advance(at, part.skip)?, buf),
            (_, Place::Metadata { space, position }) => {
                let position = position.checked_add(part.skip).ok_or(Corruption::Address)?;
                self.image.read_metadata(space, position, buf)
            }
            (_, Place::Packed { offset }) => self.read_fragment(offset, part.skip, buf),
        }
    }

    /// Directories and symlinks lie side by side and are small: what is read of one serves the next.
    fn read_flat(&self, at: DevicePa, buf: &mut [u8]) -> Result<(), Fault> {
        match self.inode.file_type {
            FileType::Regular => self.image.devices.read(at, buf),
            _ => self.image.devices.read_cached(at, buf),
        }
    }

    fn read_interlaced(
        &self,
        part: &Part<'_>,
        at: DevicePa,
        buf: &mut [u8],
        window: &mut Window,
    ) -> Result<(), Fault> {
        let block = self.image.superblock().block;
        let stored = window.get(&self.image.devices, at, size(block.size().into()), part.wanted)?;
        let first = block.within(part.extent.la.saturating_add(part.skip));
        let (before, behind) = stored.split_at(size(first.into()).min(stored.len()));
        let (head, tail) = buf.split_at_mut(buf.len().min(behind.len()));
        copy(behind, 0, head)?;
        copy(before, 0, tail)
    }

    fn read_fragment(&self, offset: u64, skip: u64, buf: &mut [u8]) -> Result<(), Fault> {
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

    fn read_compressed(
        &self,
        part: &Part<'_>,
        stream: &Stream<'_>,
        buf: &mut [u8],
        lease: &mut Lease<'_>,
    ) -> Result<(), Fault> {
        let whole = buf.len() as u64 == part.extent.len;
        let key = (self.role, part.extent.la);
        let cached = || if self.role == Role::File { None } else { self.image.decoded.get(key) };
        if whole && let Some(bytes) = cached() {
            return copy(&bytes, 0, buf);
        }
        let scratch = lease.get();
        if whole {
            return self.decode(part, stream, buf, &mut scratch.window);
        }
        if self.role != Role::File {
            let bytes = self.image.decoded.get_or_load(key, size(part.extent.len), |out| {
                self.decode(part, stream, out, &mut scratch.window)
            })?;
            return copy(&bytes, part.skip, buf);
        }
        let of = (self.inode.nid, La(part.extent.la));
        let needed = part.skip.saturating_add(buf.len() as u64);
        if (scratch.decoded.get(of).len() as u64) < needed {
            let length = needed.saturating_mul(2).max(EAGER).min(part.extent.len);
            let window = &mut scratch.window;
            scratch.decoded.fill(of, size(length), |out| self.decode(part, stream, out, window))?;
        }
        copy(scratch.decoded.get(of), part.skip, buf)
    }

    /// Decodes the first `out.len()` bytes of an extent.
    fn decode(
        &self,
        part: &Part<'_>,
        stream: &Stream<'_>,
        out: &mut [u8],
        window: &mut Window,
    ) -> Result<(), Fault> {
        let (block, plen) = (self.image.superblock().block, size(part.extent.plen));
        match part.extent.place {
            Place::Device(at) => {
                let stored = window.get(&self.image.devices, at, plen, part.wanted)?;
                stream.decode(stored, block, out)
            }
            Place::Metadata { space, position } => {
                let mut view = View::new(self.image, space);
                if let Some(stored) = view.slice(position, plen)? {
                    return stream.decode(stored, block, out);
                }
                let mut stored = vec![0; plen];
                view.read(position, &mut stored)?;
                stream.decode(&stored, block, out)
            }
            Place::Nowhere | Place::Packed { .. } => Err(Corruption::Address.into()),
        }
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
