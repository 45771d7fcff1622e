//! Defines [`Apart`], by which pclusters of a file that are on different devices don't seem to follow each other.
//!
//! If the devices are files, Linux (seen with 6.18) reads two pclusters at once where one starts, on its device, at the block at
//! which the other ends on another device, and takes the bytes of both from the first of the two. It compares block devices
//! only. These two may be neighbours in the file, or others are between them that need not be read, because another thread
//! reads them or they are cached.
//!
//! Reads of different inodes are never put together, nor those of two calls: fragments are read by page through the packed
//! inode, with what else is in the pclusters of a page. Of chunks Linux compares the numbers of devices, too.

use std::{collections::HashMap, ops::Range};

use crate::{KnownDevice, KnownPcluster};

/// Bytes of a file between two pclusters on different devices that may be read at once: as many as possible of these are
/// tried to be kept apart, and neighbours in any case. Linux reads 128 KiB ahead by default, and at most 2 MiB at once.
pub(crate) const DISTANCES: [u64; 3] = [4 << 20, 512 << 10, 128 << 10];
/// To keep pclusters apart that are no neighbours, one block of so many is left free at most, and one pcluster of so many that
/// others hold is stored again.
pub(crate) const ONE_OF: u32 = 16;

/// Where devices start in the unified address space.
#[derive(Debug)]
pub(crate) struct Starts {
    /// The first block of each and its number, in ascending order, that of the image itself first.
    devices: Vec<(u64, usize)>,
}

impl Starts {
    /// Those of the devices that have their places there.
    pub(crate) fn new(devices: &[KnownDevice]) -> Self {
        let placed = |(number, known): (_, &KnownDevice)| Some((known.uniaddr?.0, number));
        let mut starts = vec![(0, 0)];
        starts.extend((1..).zip(devices).filter_map(placed));
        starts.sort_unstable();
        Self { devices: starts }
    }

    /// Whether pclusters that other devices hold can be on several.
    pub(crate) const fn are_several(&self) -> bool {
        self.devices.len() > 2
    }

    /// Where a pcluster is that holds these bytes of its file, by its blocks in the unified address space.
    pub(crate) fn place(&self, bytes: Range<u64>, blocks: Range<u64>) -> Placed {
        let after = self.devices.partition_point(|(start, _)| *start <= blocks.start);
        let (start, device) = *self.devices.get(after - 1).expect("the image starts at 0");
        Placed { bytes, device, blocks: blocks.start - start..blocks.end - start }
    }

    /// Whether pclusters that hold a file one after another are kept apart from each other.
    pub(crate) fn are_apart(&self, known: &[KnownPcluster]) -> bool {
        if !self.are_several() {
            return true;
        }
        let mut position = 0;
        let place = |known: &KnownPcluster| {
            let (start, address) = (position, known.address.0);
            position += u64::from(known.llen);
            self.place(start..position, address..address + u64::from(known.blocks))
        };
        let placed: Vec<_> = known.iter().map(place).collect();
        touching(&placed).is_empty()
    }
}

/// A pcluster, by the bytes of the file that it holds, and its blocks.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) bytes: Range<u64>,
    /// 0: the image itself.
    pub(crate) device: usize,
    /// On its device.
    pub(crate) blocks: Range<u64>,
}

impl Placed {
    /// Bytes of the file between it and others.
    fn distance(&self, other: &Range<u64>) -> u64 {
        let after = self.bytes.start.saturating_sub(other.end);
        let before = other.start.saturating_sub(self.bytes.end);
        after.max(before)
    }
}

/// The pclusters of a file that have their places.
#[derive(Debug, Default)]
pub(crate) struct Apart {
    by_start: HashMap<u64, AtBlock>,
    by_end: HashMap<u64, AtBlock>,
}

impl Apart {
    pub(crate) fn add(&mut self, placed: &Placed) {
        self.by_start.entry(placed.blocks.start).or_default().add(placed);
        self.by_end.entry(placed.blocks.end).or_default().add(placed);
    }

    /// Whether a pcluster seems to follow none on another device, nor to be followed by one, of those with at most so many
    /// bytes of the file between them and it.
    pub(crate) fn allows(&self, placed: &Placed, distance: u64) -> bool {
        let before = self.by_end.get(&placed.blocks.start);
        let after = self.by_start.get(&placed.blocks.end);
        !before.into_iter().chain(after).any(|there| there.is_near(placed, distance))
    }
}

/// The pclusters that start, or end, at one block of their devices: for each device the bytes of the file that they hold, in
/// ascending order. A pcluster to which a file refers over and over has many.
#[derive(Debug, Default)]
struct AtBlock {
    devices: Vec<(usize, Vec<Range<u64>>)>,
}

impl AtBlock {
    fn add(&mut self, placed: &Placed) {
        let known = self.devices.iter().position(|(device, _)| *device == placed.device);
        let known = known.unwrap_or_else(|| {
            self.devices.push((placed.device, Vec::new()));
            self.devices.len() - 1
        });
        if let Some((_, ranges)) = self.devices.get_mut(known) {
            let at = ranges.partition_point(|range| range.start <= placed.bytes.start);
            ranges.insert(at, placed.bytes.clone());
        }
    }

    /// Whether one on another device has at most so many bytes between it and a pcluster.
    fn is_near(&self, placed: &Placed, distance: u64) -> bool {
        let others = self.devices.iter().filter(|(device, _)| *device != placed.device);
        // Pclusters of a file don't overlap in it, so those next to it are the nearest.
        let mut nearest = others.flat_map(|(_, ranges)| {
            let at = ranges.partition_point(|range| range.start <= placed.bytes.start);
            [at.checked_sub(1), Some(at)].into_iter().flatten().filter_map(|at| ranges.get(at))
        });
        nearest.any(|bytes| placed.distance(bytes) <= distance)
    }
}

/// The numbers of the pclusters of a file, in ascending order, without which the others don't seem to follow each other:
/// neighbours in any case, and those as far from each other for which few are left out.
pub(crate) fn touching(placed: &[Placed]) -> Vec<usize> {
    let is_on = |device: usize| move |placed: &Placed| placed.device == device;
    if placed.first().is_none_or(|first| placed.iter().all(is_on(first.device))) {
        return Vec::new();
    }
    let within = |distance| {
        let mut apart = Apart::default();
        let is_left_out = |placed: &Placed| {
            let is_allowed = apart.allows(placed, distance);
            if is_allowed {
                apart.add(placed);
            }
            !is_allowed
        };
        let left_out: Vec<bool> = placed.iter().map(is_left_out).collect();
        (0..).zip(left_out).filter_map(|(number, is)| is.then_some(number)).collect::<Vec<_>>()
    };
    let few = (placed.len() / ONE_OF as usize).max(1);
    let far = DISTANCES.into_iter().map(within).find(|left_out| left_out.len() <= few);
    far.unwrap_or_else(|| within(0))
}

#[cfg(test)]
mod tests {
    use lith_format::addr::Blkaddr;
    use lith_tree::ExtraDevice;

    use super::*;

    fn placed(at: u64, device: usize, first: u64) -> Placed {
        Placed { bytes: at..at + 1000, device, blocks: first..first + 4 }
    }

    #[test]
    fn pclusters_are_on_the_device_that_has_their_address() {
        let device = |start: Option<u64>| KnownDevice {
            device: ExtraDevice { bytes: 1 << 20, tag: Vec::new() },
            uniaddr: start.map(Blkaddr),
        };
        let starts = Starts::new(&[device(Some(900)), device(None), device(Some(500))]);
        for (address, expected) in [(0, (0, 0)), (499, (0, 499)), (500, (3, 0)), (901, (1, 1))] {
            let Placed { device, blocks, .. } = starts.place(0..1, address..address + 2);
            assert_eq!(
                (device, blocks.start, blocks.end),
                (expected.0, expected.1, expected.1 + 2)
            );
        }
    }

    #[test]
    fn as_few_as_needed_are_left_out() {
        // The second starts where the first ends, on another device; the last one does so far away.
        let far = |at| [placed(0, 1, 0), placed(1000, 2, 4), placed(2000, 1, 8), placed(at, 3, 12)];
        assert_eq!(touching(&far(3000)), [1, 3]);
        assert_eq!(touching(&far(1 << 30)), [1]);
        assert_eq!(touching(&[placed(0, 1, 0), placed(1000, 1, 4)]), []);
        // Of 32 pairs each touches one that is no neighbour: too many to leave them all out.
        let pairs = (0..32).flat_map(|n| {
            let (at, block) = (n * 3000, n * 100);
            [
                placed(at, 1, block),
                placed(at + 1000, 1, block + 50),
                placed(at + 2000, 2, block + 4),
            ]
        });
        let pairs: Vec<_> = pairs.collect();
        assert_eq!(touching(&pairs), []);
        assert_eq!(touching(&pairs[..3]), [2]);
    }

    #[test]
    fn a_pcluster_can_have_any_number_of_references() {
        // Each is compared with its neighbours alone: with all, this takes minutes.
        let pair = |n: u64| [placed(n * 2000, 1, 0), placed(n * 2000 + 1000, 2, 8)];
        let mut all: Vec<_> = (0..200_000).flat_map(pair).collect();
        assert_eq!(touching(&all), []);
        all.push(placed(400_000_000, 3, 4));
        assert_eq!(touching(&all), [400_000]);
    }

    #[test]
    fn only_pclusters_of_other_devices_that_are_near_must_not_touch() {
        let mut apart = Apart::default();
        apart.add(&placed(5000, 1, 10));
        for (other, is_allowed) in [
            (placed(6000, 0, 14), false),
            (placed(4000, 0, 6), false),
            (placed(6500, 0, 14), false),
            (placed(6501, 0, 14), true),
            (placed(6000, 1, 14), true),
            (placed(6000, 0, 15), true),
            (placed(6000, 2, 6), false),
            (placed(6000, 2, 10), true),
        ] {
            assert_eq!(apart.allows(&other, 500), is_allowed, "{other:?}");
        }
    }
}
