//! Draws the map of a device as rows of cells.

use std::collections::BTreeMap;

use lith_markup::{Html, html};

use super::text::percent;
use crate::{
    facts::{Class, ClassSums, Device, Region},
    number::{Bytes, Share},
};

/// Rows of a map, and cells of a row.
pub(super) const ROWS: u64 = 16;
pub(super) const CELLS: u64 = 160;
pub(super) const ROW: usize = 160;

/// Contiguous cells of one class.
#[derive(Clone, Debug)]
struct Run {
    x: String,
    width: String,
    class: Class,
}

/// The maps of all devices that have bytes.
pub(super) fn maps(page: &mut Html, devices: &[Device]) {
    let devices: Vec<_> = devices.iter().filter(|device| device.size > 0).collect();
    for device in &devices {
        if devices.len() > 1 {
            html!(page, "<h3>", name(device.number), "</h3>");
        }
        map(page, device);
    }
}

fn name(number: u16) -> String {
    match number {
        0 => "The image".to_owned(),
        number => format!("Device {number}"),
    }
}

fn map(page: &mut Html, device: &Device) {
    html!(page, "<p>All bytes from first to last, ", Bytes(device.size.div_ceil(ROWS)));
    html!(
        page,
        " per row. The colour of a cell shows what most of its bytes hold.</p>\n\
         <div class=\"map\" role=\"img\" aria-label=\"Map of the bytes\">\n",
    );
    for (cells, number) in cells(device).chunks(ROW).zip(0..) {
        start_row(page, boundary(device.size, number * CELLS));
        for Run { x, width, class } in runs(cells) {
            html!(page, "<rect class=\"c-", class, "\" x=\"", x, "\" width=\"", width);
            html!(page, "\" height=\"18\"><title>", class.name(), "</title></rect>");
        }
        end_row(page);
    }
    html!(page, "</div>\n");
    key(page, device);
}

pub(super) fn start_row(page: &mut Html, first_byte: u64) {
    html!(page, "<div><span>", Bytes(first_byte), "</span><svg height=\"18\">");
}

pub(super) fn end_row(page: &mut Html) {
    html!(page, "</svg></div>\n");
}

/// What the colours of a map mean, and how many bytes have each.
fn key(page: &mut Html, device: &Device) {
    html!(
        page,
        "<div class=\"table\"><table>\n<thead><tr><th>Holds</th><th class=\"number\">Bytes</th>\
         <th class=\"number\">Share</th></tr></thead>\n<tbody>\n",
    );
    for ClassSums { class, bytes, .. } in &device.classes {
        html!(page, "<tr><td><span class=\"swatch c-", class, "\"></span>", class.name());
        html!(page, "</td><td class=\"number\">", Bytes(*bytes), "</td><td class=\"number\">");
        html!(page, Share(*bytes, device.size), "</td></tr>\n");
    }
    html!(page, "</tbody></table></div>\n");
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
        Run { x, width, class }
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
        let rows = |device: Device| {
            let mut page = Html::default();
            maps(&mut page, &[device]);
            page.into_string().matches("<svg").count()
        };
        assert_eq!(rows(device(0, &[])), 0);
        let tiny = device(3, &[(0, 1, Class::Inodes), (1, 2, Class::Plain)]);
        assert_eq!(rows(tiny), usize::try_from(ROWS).unwrap());
    }
}
