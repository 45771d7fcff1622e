//! Defines the content of an inode, and arithmetic on where its bytes are.

use lith_format::{addr::Pa, device_table::DevicePa};

use crate::{
    error::{Corruption, Fault},
    image::{Image, Role, SpecialInode},
    inode::Inode,
    map::Map,
    memory,
};

/// The content of an inode.
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

pub(super) fn advance(at: DevicePa, bytes: u64) -> Result<DevicePa, Fault> {
    let pa = at.pa.0.checked_add(bytes).ok_or(Corruption::Address)?;
    Ok(DevicePa { device: at.device, pa: Pa(pa) })
}

/// Fills `buf` with the bytes after the first `skip`.
pub(super) fn copy(bytes: &[u8], skip: u64, buf: &mut [u8]) -> Result<(), Fault> {
    let start = memory::length(skip);
    let end = start.checked_add(buf.len()).ok_or(Corruption::Address)?;
    buf.copy_from_slice(bytes.get(start..end).ok_or(Corruption::Address)?);
    Ok(())
}
