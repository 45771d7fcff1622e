//! Does an image say that a file's bytes lie where the source says?

use lith_format::{
    addr::{Blkaddr, Nid, Pa},
    device_table::DevicePa,
};
use lith_reader::{Image, Place};
use lith_tree::{Elsewhere, Filesystem, InodeIndex};

use crate::Mismatch;

/// Compares the places of the blocks of a file that lies on devices that the image refers to. They need not be open.
pub(crate) fn compare(
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

/// The stretches of a file that are still to be found.
struct Expected<'a> {
    image: &'a Image,
    stretches: std::slice::Iter<'a, Elsewhere>,
    /// What is left of one.
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

    /// Whether the next `len` bytes are expected to lie from `place` on; they need not be in one stretch.
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

    /// How an image of which only the first device is open names a place.
    fn place_of(&self, begins: Option<(usize, u64)>) -> Option<Place> {
        let Some((device, position)) = begins else { return Some(Place::Nowhere) };
        let map = self.image.device_map();
        let Blkaddr(start) = map.slots.get(device)?.uniaddr;
        let pa = start.checked_mul(map.block.size().into())?.checked_add(position)?;
        Some(Place::Device(DevicePa { device: 0, pa: Pa(pa) }))
    }
}

/// The place so many bytes behind another.
fn moved(place: Place, bytes: u64) -> Option<Place> {
    match place {
        Place::Device(DevicePa { device, pa: Pa(pa) }) => {
            let pa = Pa(pa.checked_add(bytes)?);
            Some(Place::Device(DevicePa { device, pa }))
        }
        other => Some(other),
    }
}
