//! Draws the map of a device as rows of cells.

use std::collections::BTreeMap;

use minijinja::{Value, context};
use serde::Serialize;

use super::text::percent;
use crate::facts::{Class, Device, Region};

/// Rows of a map, and cells of a row.
pub(super) const ROWS: u64 = 16;
pub(super) const CELLS: u64 = 160;
pub(super) const ROW: usize = 160;

/// Contiguous cells of one class.
#[derive(Clone, Debug, Serialize)]
struct Run {
    x: String,
    width: String,
    class: Class,
    title: &'static str,
}

/// The map of a device; `None` for an empty one.
pub(super) fn map(device: &Device) -> Option<Value> {
    let Device { number, size, .. } = *device;
    let name = match number {
        0 => "The image".to_owned(),
        number => format!("Device {number}"),
    };
    let cells = cells(device);
    let rows = cells.chunks(ROW).zip(0..);
    let rows = rows.map(|(cells, number)| (boundary(size, number * CELLS), runs(cells)));
    let legend = device.classes.iter().map(|sums| (sums.class, sums.class.name(), sums.bytes));
    (size > 0).then(|| {
        context! {
            name,
            size,
            rows => rows.collect::<Vec<_>>(),
            row_bytes => size.div_ceil(ROWS),
            legend => legend.collect::<Vec<_>>(),
        }
    })
}

/// The position of a cell's first byte.
pub(super) fn boundary(size: u64, cell: u64) -> u64 {
    let byte = u128::from(size) * u128::from(cell) / u128::from(ROWS * CELLS);
    u64::try_from(byte).unwrap_or(size)
}

/// The class of most bytes of each cell.
fn cells(device: &Device) -> Vec<Class> {
    let mut regions = device.regions.iter().copied().peekable();
    let mut last = Class::Unused;
    let cell = |number: u64| {
        let end = boundary(device.size, number + 1);
        let mut start = boundary(device.size, number);
        let mut sums = BTreeMap::<Class, u64>::new();
        while start < end {
            let Some(Region { start: first, bytes, class }) = regions.peek().copied() else {
                break;
            };
            let stop = first.saturating_add(bytes).min(end);
            *sums.entry(class).or_default() += stop.saturating_sub(start);
            start = stop.max(start);
            if first.saturating_add(bytes) <= end {
                regions.next();
            }
        }
        // A device with fewer bytes than cells has cells without bytes.
        last = sums.into_iter().max_by_key(|(_, bytes)| *bytes).map_or(last, |(class, _)| class);
        last
    };
    (0..ROWS * CELLS).map(cell).collect()
}

fn runs(cells: &[Class]) -> Vec<Run> {
    let mut at = 0;
    let run = |cells: &[Class]| {
        let (first, count) = (at, cells.len() as u64);
        at += count;
        let class = cells.first().copied().unwrap_or(Class::Unused);
        let (x, width) = (percent(first, CELLS), percent(count, CELLS));
        Run { x, width, class, title: class.name() }
    };
    cells.chunk_by(|one, next| one == next).map(run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(size: u64, regions: &[(u64, u64, Class)]) -> Device {
        let region = |(start, bytes, class): &(u64, u64, Class)| Region {
            start: *start,
            bytes: *bytes,
            class: *class,
        };
        let regions = regions.iter().map(region).collect();
        Device { number: 0, size, classes: Vec::new(), regions }
    }

    #[test]
    fn cells_show_what_most_of_their_bytes_hold() {
        let size = ROWS * CELLS * 10;
        let regions = [(0, 16, Class::Inodes), (16, 10, Class::Lz4), (26, size - 26, Class::Zstd)];
        let cells = cells(&device(size, &regions));
        assert_eq!(cells.len() as u64, ROWS * CELLS);
        assert_eq!(cells[..4], [Class::Inodes, Class::Inodes, Class::Lz4, Class::Zstd]);
        let runs = runs(&cells[..160]);
        assert_eq!(runs.len(), 3);
        assert_eq!((&*runs[1].x, &*runs[1].width), ("1.250%", "0.625%"));
    }

    #[test]
    fn tiny_devices_have_maps_too() {
        assert!(map(&device(0, &[])).is_none());
        let map = map(&device(3, &[(0, 1, Class::Inodes), (1, 2, Class::Plain)])).unwrap();
        assert_eq!(map.get_attr("rows").unwrap().len(), usize::try_from(ROWS).ok());
    }
}
