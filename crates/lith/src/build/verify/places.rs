//! Compares the addresses of file content on other devices with those of the source.

use lith_format::{
    addr::{Blkaddr, Nid, Pa},
    device_table::DevicePa,
};
use lith_reader::{Image, Place};
use lith_tree::{Elsewhere, Filesystem, InodeIndex};

use crate::mismatch::Mismatch;

/// Compares the addresses of the blocks of a file on devices that the image refers to. The devices need not be open.
pub(super) fn compare(
    fs: Filesystem<'_>,
    image: &Image,
    (index, nid): (InodeIndex, Nid),
) -> Result<(), Mismatch> {
    let path = || fs.tree.path(index);
    let unreadable = |source| Mismatch::Unreadable { path: path(), source };
    let differs = || Mismatch::Differs { path: path(), what: "place on another device" };
    let stretches = fs.open(index)?.elsewhere()?.ok_or_else(differs)?;
    let mut expected = Expected { image, stretches: stretches.iter(), current: None };
    let inode = image.inode(nid).map_err(unreadable)?;
    for extent in image.extents(&inode).map_err(unreadable)? {
        let extent = extent.map_err(unreadable)?;
        if !expected.take(extent.place, extent.len) {
            return Err(differs());
        }
    }
    if expected.next().is_none() { Ok(()) } else { Err(differs()) }
}

/// The stretches of a file that are not compared yet.
struct Expected<'a> {
    image: &'a Image,
    stretches: std::slice::Iter<'a, Elsewhere>,
    /// The rest of the first one.
    current: Option<Elsewhere>,
}

impl Expected<'_> {
    fn next(&mut self) -> Option<Elsewhere> {
        let used_up = |current: &Elsewhere| current.len == 0;
        while self.current.as_ref().is_none_or(used_up) {
            self.current = Some(*self.stretches.next()?);
        }
        self.current
    }

    /// Whether the next `len` bytes are expected at `place`, in one stretch or several.
    fn take(&mut self, place: Place, len: u64) -> bool {
        let mut done = 0;
        while done < len {
            let Some(Elsewhere { place: begins, len: left }) = self.next() else { return false };
            if self.place_of(begins) != moved(place, done) {
                return false;
            }
            let now = left.min(len - done);
            let begins = begins.map(|(device, position)| (device, position.saturating_add(now)));
            self.current = Some(Elsewhere { place: begins, len: left - now });
            done += now;
        }
        true
    }

    /// A position on another device as the reader returns it if only the first device is open.
    fn place_of(&self, begins: Option<(usize, u64)>) -> Option<Place> {
        let Some((device, position)) = begins else { return Some(Place::Nowhere) };
        let map = self.image.device_map();
        let Blkaddr(start) = map.slots.get(device)?.uniaddr;
        let pa = start.checked_mul(map.block.size().into())?.checked_add(position)?;
        Some(Place::Device(DevicePa { device: 0, pa: Pa(pa) }))
    }
}

/// The place `bytes` after another.
fn moved(place: Place, bytes: u64) -> Option<Place> {
    match place {
        Place::Device(DevicePa { device, pa: Pa(pa) }) => {
            let pa = Pa(pa.checked_add(bytes)?);
            Some(Place::Device(DevicePa { device, pa }))
        }
        other => Some(other),
    }
}
