//! Makes the map of a device: which of its bytes hold what.

use std::collections::BTreeMap;

use lith_survey::RangeMap;

use crate::facts::{Class, ClassSums, Device, Region};

/// The map of device `number`, which has `size` bytes: the ranges of `metadata`, those of `data` except where metadata
/// is, and the gaps.
pub(crate) fn map(
    number: u16,
    size: u64,
    metadata: RangeMap<Class>,
    data: &RangeMap<Class>,
) -> Device {
    let mut ranges = metadata;
    for (range, class) in data.iter() {
        ranges.add(range, class, |_| ());
    }
    let (mut regions, mut at) = (Vec::new(), 0);
    let mut push = |start: u64, end: u64, class| {
        if start < end {
            regions.push(Region { start, bytes: end - start, class });
        }
    };
    for (range, class) in ranges.iter().take_while(|(range, _)| range.start < size) {
        let end = range.end.min(size);
        push(at, range.start, Class::Unused);
        push(range.start, end, class);
        at = end;
    }
    push(at, size, Class::Unused);
    Device { number, size, classes: sums(&regions), regions }
}

fn sums(regions: &[Region]) -> Vec<ClassSums> {
    let mut sums = BTreeMap::<Class, ClassSums>::new();
    for Region { bytes, class, .. } in regions {
        let empty = ClassSums { class: *class, regions: 0, bytes: 0 };
        let sum = sums.entry(*class).or_insert(empty);
        sum.regions += 1;
        sum.bytes = sum.bytes.saturating_add(*bytes);
    }
    sums.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_tile_the_device_and_metadata_comes_first() {
        let (mut metadata, mut data) = (RangeMap::default(), RangeMap::default());
        metadata.add(10..20, Class::Superblock, |_| ());
        data.add(15..40, Class::Lz4, |_| ());
        data.add(90..200, Class::Plain, |_| ());
        let map = map(0, 100, metadata, &data);
        let regions: Vec<_> = map.regions.iter().map(|r| (r.start, r.bytes, r.class)).collect();
        let expected = [
            (0, 10, Class::Unused),
            (10, 10, Class::Superblock),
            (20, 20, Class::Lz4),
            (40, 50, Class::Unused),
            (90, 10, Class::Plain),
        ];
        assert_eq!(regions, expected);
        let unused = map.classes.iter().find(|sums| sums.class == Class::Unused).unwrap();
        assert_eq!((unused.regions, unused.bytes), (2, 60));
    }
}
