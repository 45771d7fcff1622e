//! How do a file's extents become its bytes?
//!
//! `Content::read` goes over the extents of a read. Uncompressed files are read extent by extent. For compressed files
//! `plan` groups extents into runs that are fetched from a device at once, and `serve` decodes or copies each of them. A
//! fragment is a read of the packed inode's content, and inline data is metadata, which may be in the metabox inode's
//! content (`metabox`): both come back to `Content::read`.

mod metabox;
mod plan;
mod read;
mod serve;

use lith_format::{addr::Pa, device_table::DevicePa};

use crate::{
    error::{Corruption, Fault},
    image::{Image, Role, SpecialInode},
    inode::Inode,
    map::Map,
    memory,
};

#[derive(Clone, Copy)]
pub(crate) struct Content<'a> {
    pub(crate) image: &'a Image,
    pub(crate) inode: &'a Inode,
    pub(crate) map: &'a Map,
    pub(crate) role: Role,
}

impl Image {
    pub(crate) const fn content_of<'a>(&'a self, inode: &'a Inode, map: &'a Map) -> Content<'a> {
        Content { image: self, inode, map, role: Role::File }
    }
}

impl SpecialInode {
    pub(crate) const fn content<'a>(&'a self, image: &'a Image) -> Content<'a> {
        Content { image, inode: &self.inode, map: &self.map, role: self.role }
    }
}

fn advance(at: DevicePa, bytes: u64) -> Result<DevicePa, Fault> {
    let pa = at.pa.0.checked_add(bytes).ok_or(Corruption::Address)?;
    Ok(DevicePa { device: at.device, pa: Pa(pa) })
}

/// Fills `buf` with the bytes after the first `skip`.
fn copy(bytes: &[u8], skip: u64, buf: &mut [u8]) -> Result<(), Fault> {
    let start = memory::length(skip);
    let end = start.checked_add(buf.len()).ok_or(Corruption::Address)?;
    buf.copy_from_slice(bytes.get(start..end).ok_or(Corruption::Address)?);
    Ok(())
}
