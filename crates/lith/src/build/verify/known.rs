//! Compares how files are stored that were not read for their digests, because other images hold them, with how those store
//! them.
//!
//! An extent of the image is at the place that is known, or it has the same bytes.

use std::{ops::Range, slice};

use lith_builder::{Known, KnownParts, KnownPcluster, KnownStorage, KnownStretch};
use lith_format::{
    addr::{Nid, Pa},
    device_table::DevicePa,
};
use lith_reader::{Extent, ExtentKind, File, Image, Place};
use lith_tree::{Content, Filesystem, InodeIndex, Kind};

use crate::mismatch::Mismatch;

/// Bytes that are compared at once.
const STEP: u64 = 1 << 20;

/// Compares a file with how it is known to be stored.
pub(super) fn compare(
    (fs, image): (Filesystem<'_>, &Image),
    stored: &KnownStorage,
    (index, nid): (InodeIndex, Nid),
) -> Result<(), Mismatch> {
    let unreadable = |source| Mismatch::Unreadable { path: fs.tree.path(index), source };
    let file = image.inode(nid).and_then(|inode| image.file(&inode)).map_err(unreadable)?;
    let mut places = Places::new(stored, image);
    let mut content = None;
    for extent in file.extents() {
        let extent = extent.map_err(unreadable)?;
        if places.has(&extent) {
            continue;
        }
        let opened = match content.take() {
            Some(opened) => opened,
            None => fs.open(index)?,
        };
        let range = (extent.la, extent.len);
        if !have_same_bytes((&file, &*opened), range, unreadable)? {
            return Err(Mismatch::Differs { path: fs.tree.path(index), what: "content" });
        }
        content = Some(opened);
    }
    Ok(())
}

/// Compares all bytes of a file.
pub(super) fn compare_bytes(
    (fs, image): (Filesystem<'_>, &Image),
    (index, nid): (InodeIndex, Nid),
) -> Result<(), Mismatch> {
    let unreadable = |source| Mismatch::Unreadable { path: fs.tree.path(index), source };
    let file = image.inode(nid).and_then(|inode| image.file(&inode)).map_err(unreadable)?;
    let content = fs.open(index)?;
    if have_same_bytes((&file, &*content), (0, file.size()), unreadable)? {
        return Ok(());
    }
    Err(Mismatch::Differs { path: fs.tree.path(index), what: "content" })
}

/// The ranges of the known packed inode, in order, that are those of files.
pub(super) fn in_packed(
    fs: Filesystem<'_>,
    known: &Known<'_>,
    files: &[(InodeIndex, Nid)],
) -> Vec<Range<u64>> {
    let range =
        |(index, _): &(InodeIndex, Nid)| match (known.own.get(index)?, &fs.tree.get(*index).kind) {
            (KnownParts::Whole(stored), Kind::Regular { size }) => stored.in_packed(*size),
            _ => None,
        };
    let mut ranges: Vec<_> = files.iter().filter_map(range).collect();
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, last| {
        let is_joined = next.start <= last.end;
        if is_joined {
            last.end = last.end.max(next.end);
        }
        is_joined
    });
    ranges
}

/// Compares the beginning of the packed inode with what it is known to hold, where its extents are others and files have some of
/// the `used` ranges, which are in order.
pub(super) fn compare_packed(
    image: &Image,
    known: &Known<'_>,
    used: &[Range<u64>],
) -> Result<(), Mismatch> {
    let (Some(packed), Some(inode)) = (&known.packed, image.packed_inode()) else { return Ok(()) };
    let unreadable = |source| Mismatch::Unreadable { path: Vec::new(), source };
    let file = image.file(inode).map_err(unreadable)?;
    let content = known.contents.open(packed.content)?;
    let mut extents = packed.extents.iter().peekable();
    for extent in file.extents() {
        let extent = extent.map_err(unreadable)?;
        if extent.la >= packed.size {
            break;
        }
        while extents.next_if(|(position, _)| *position < extent.la).is_some() {}
        let is_there = |(position, pcluster): &&(u64, KnownPcluster)| {
            *position == extent.la && is_at(image, &extent, pcluster)
        };
        if extents.next_if(is_there).is_some() {
            continue;
        }
        let end = extent.la.saturating_add(extent.len).min(packed.size);
        let first = used.partition_point(|range| range.end <= extent.la);
        let used = used.iter().skip(first).take_while(|range| range.start < end);
        for Range { start, end: stop } in used {
            let start = extent.la.max(*start);
            let len = end.min(*stop) - start;
            if !have_same_bytes((&file, &*content), (start, len), unreadable)? {
                return Err(Mismatch::Differs { path: Vec::new(), what: "fragments" });
            }
        }
    }
    Ok(())
}

/// Where the extents of a file are expected, as far as they were not passed.
enum Places<'a> {
    Blocks(&'a Image, slice::Iter<'a, KnownStretch>, KnownStretch),
    /// The first byte in the unified address space.
    Flat(&'a Image, u64),
    /// Extents, the position of the next one, and where the fragment is that follows.
    Pclusters(&'a Image, slice::Iter<'a, KnownPcluster>, u64, Option<u64>),
    Packed(u64),
}

impl<'a> Places<'a> {
    fn new(stored: &'a KnownStorage, image: &'a Image) -> Self {
        match stored {
            KnownStorage::Blocks(stretches) => {
                Self::Blocks(image, stretches.iter(), KnownStretch { len: 0, place: None })
            }
            KnownStorage::Flat { start, .. } => {
                Self::Flat(image, start.0.saturating_mul(block(image)))
            }
            KnownStorage::Pclusters { extents, tail } => {
                Self::Pclusters(image, extents.iter(), 0, *tail)
            }
            KnownStorage::Packed(offset) => Self::Packed(*offset),
        }
    }

    /// Whether the next extent is where it is expected.
    fn has(&mut self, extent: &Extent) -> bool {
        match self {
            Self::Blocks(image, stretches, current) => {
                let place = unified(image, extent.place);
                let is_hole = extent.place == Place::Nowhere;
                take_blocks((image, stretches, current), (place, is_hole), extent.len)
            }
            Self::Flat(image, start) => {
                let expected = start.checked_add(extent.la);
                extent.kind == ExtentKind::Flat && unified(image, extent.place) == expected
            }
            Self::Pclusters(image, extents, next, tail) => {
                let position = *next;
                let Some(known) = extents.next() else {
                    let offset = tail.unwrap_or(u64::MAX);
                    return position == extent.la && extent.place == Place::Packed { offset };
                };
                *next += u64::from(known.llen);
                position == extent.la && is_at(image, extent, known)
            }
            Self::Packed(offset) => extent.place == Place::Packed { offset: *offset + extent.la },
        }
    }
}

/// Whether the next `len` bytes of stretches are at a place.
fn take_blocks(
    (image, stretches, current): (&Image, &mut slice::Iter<'_, KnownStretch>, &mut KnownStretch),
    (place, is_hole): (Option<u64>, bool),
    len: u64,
) -> bool {
    let mut done = 0;
    while done < len {
        while current.len == 0 {
            let Some(next) = stretches.next() else { return false };
            *current = *next;
        }
        let expected = current.place.and_then(|(device, start)| {
            let pa = Pa(start.0.checked_mul(block(image))?);
            unified(image, Place::Device(DevicePa { device, pa }))
        });
        if is_hole != current.place.is_none() || expected != place.map(|place| place + done) {
            return false;
        }
        let now = current.len.min(len - done);
        let blocks = now / block(image);
        current.len -= now;
        if let Some((_, start)) = &mut current.place {
            start.0 += blocks;
        }
        done += now;
    }
    true
}

/// Whether an extent has a pcluster.
fn is_at(image: &Image, extent: &Extent, known: &KnownPcluster) -> bool {
    let (algorithm, partial) = match extent.kind {
        ExtentKind::Compressed { algorithm, partial } => (Some(algorithm), partial),
        ExtentKind::Plain { interlaced: false } => (None, false),
        _ => return false,
    };
    let block = block(image);
    (algorithm, partial) == (known.algorithm, known.partial)
        && (extent.len, extent.plen) == (known.llen.into(), u64::from(known.blocks) * block)
        && unified(image, extent.place) == known.address.0.checked_mul(block)
}

fn block(image: &Image) -> u64 {
    image.superblock().block.size().into()
}

/// The first byte of a place in the unified address space.
fn unified(image: &Image, place: Place) -> Option<u64> {
    let Place::Device(DevicePa { device, pa }) = place else { return None };
    let start = match usize::from(device).checked_sub(1) {
        None => 0,
        Some(slot) => image.device_map().slots.get(slot)?.uniaddr.0.checked_mul(block(image))?,
    };
    start.checked_add(pa.0)
}

/// Compares a range of a file, by its first byte and length, with that of other content.
fn have_same_bytes(
    (file, content): (&File<'_>, &dyn Content),
    (start, len): (u64, u64),
    unreadable: impl Fn(lith_reader::Error) -> Mismatch,
) -> Result<bool, Mismatch> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut done = 0;
    while done < len {
        let now = usize::try_from(STEP.min(len - done)).expect("at most a step");
        ours.resize(now, 0);
        theirs.resize(now, 0);
        file.read_at(&mut ours, start + done).map_err(&unreadable)?;
        content.read_at(&mut theirs, start + done)?;
        if ours != theirs {
            return Ok(false);
        }
        done += now as u64;
    }
    Ok(true)
}
