//! Draws what is read first: on the map of the image, and as a path through it.

use std::ops::Range;

use lith_markup::{Html, html};
use lith_survey::FirstReads;

use super::{
    parts,
    strip::{CELLS, ROW, ROWS, boundary, end_row, start_row},
    text::{grouped, percent},
};
use crate::number::{Bytes, Share};

/// Steps of the scale from the first read to the last.
const STEPS: u64 = 10;
/// The picture of the path, in units that the page scales.
const WIDTH: u64 = 1000;
const HEIGHT: u64 = 240;
/// The most corners of the path.
const CORNERS: usize = 4000;

/// Contiguous cells that are read at about the same time.
#[derive(Clone, Debug)]
struct Run {
    x: String,
    width: String,
    class: String,
}

/// What is read first of an image of so many bytes.
pub(super) fn section(page: &mut Html, reads: &FirstReads, size: u64) {
    html!(
        page,
        "<section id=\"reads\">\n<h2>What is read first</h2>\n\
         <p>By a profile: what a program reads of the image, and in which order.</p>\n<dl class=\"about\">\n",
    );
    for (name, value) in figures(reads, size) {
        html!(page, "<div><dt>", name, "</dt><dd>", value, "</dd></div>\n");
    }
    html!(page, "</dl>\n<h3>Where it is</h3>\n<p>All bytes of the image from first to last, ");
    html!(page, Bytes(size.div_ceil(ROWS)), " per row, coloured by when they are read.</p>\n");
    html!(page, "<div class=\"map\" role=\"img\" aria-label=\"Map of what is read first\">\n");
    for (cells, number) in cells(&reads.ranges, size).chunks(ROW).zip(0..) {
        start_row(page, boundary(size, number * CELLS));
        for Run { x, width, class } in runs(cells) {
            html!(page, "<rect class=\"", class, "\" x=\"", x, "\" width=\"", width);
            html!(page, "\" height=\"18\"/>");
        }
        end_row(page);
    }
    html!(page, "</div>\n<div class=\"scale\"><span>first</span>");
    parts::scale(page);
    html!(
        page,
        "<span>last</span></div>\n<h3>The way through the image</h3>\n\
         <p>To the right what is read so far, downwards the position in the image. A straight line is one contiguous read; each \
         upright line is a seek.</p>\n<svg class=\"way\" viewBox=\"0 0 ",
        WIDTH,
        " ",
        HEIGHT,
        "\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Positions in the order of reading\"><polyline points=\"",
        path(&reads.ranges, size),
        "\"/></svg>\n</section>\n",
    );
}

fn figures(reads: &FirstReads, size: u64) -> [(&'static str, String); 6] {
    let stored = reads.stored();
    [
        ("Read of files", Bytes(reads.used).to_string()),
        ("Stored of that", format!("{}, {} of the image", Bytes(stored), Share(stored, size))),
        ("Contiguous reads", grouped(reads.requests())),
        ("Seeks", format!("{}, over {}", grouped(reads.seeks()), Bytes(reads.distance()))),
        (
            "With read-ahead of 128 KiB",
            format!("{} in {} reads", Bytes(reads.ahead_bytes), grouped(reads.ahead_requests)),
        ),
        ("Not in the image", grouped(reads.missing)),
    ]
}

/// When something of each cell is read first, as a step; `None`: never.
fn cells(ranges: &[Range<u64>], size: u64) -> Vec<Option<u64>> {
    let count = ROWS * CELLS;
    let mut cells = vec![None; usize::try_from(count).unwrap_or(0)];
    let total = sum(ranges);
    let mut before = 0_u64;
    let cell_of = |byte: u64| {
        let cell = u128::from(byte) * u128::from(count) / u128::from(size.max(1));
        usize::try_from(cell).unwrap_or(usize::MAX)
    };
    for range in ranges.iter().filter(|range| range.start < range.end.min(size)) {
        let step = u128::from(before) * u128::from(STEPS) / u128::from(total.max(1));
        let step = u64::try_from(step).unwrap_or(0).min(STEPS - 1);
        let (first, last) = (cell_of(range.start), cell_of(range.end.min(size) - 1));
        for cell in cells.get_mut(first..=last).unwrap_or_default() {
            cell.get_or_insert(step);
        }
        before = before.saturating_add(range.end - range.start);
    }
    cells
}

fn runs(cells: &[Option<u64>]) -> Vec<Run> {
    let mut at = 0;
    let run = |cells: &[Option<u64>]| {
        let (first, count) = (at, cells.len() as u64);
        at += count;
        let class = match cells.first().copied().flatten() {
            Some(step) => format!("r{step}"),
            None => "c-unused".to_owned(),
        };
        Run { x: percent(first, CELLS), width: percent(count, CELLS), class }
    };
    cells.chunk_by(|one, next| one == next).map(run).collect()
}

/// The corners of the path that reading takes through the image: bytes read so far to the right, positions downwards.
fn path(ranges: &[Range<u64>], size: u64) -> String {
    let total = sum(ranges);
    let scaled = |part: u64, whole: u64, length: u64| {
        u128::from(part.min(whole)) * u128::from(length) / u128::from(whole.max(1))
    };
    let every = (ranges.len() * 2).div_ceil(CORNERS).max(1);
    let mut before = 0_u64;
    let mut corners = Vec::new();
    for (number, range) in ranges.iter().enumerate() {
        let len = range.end.saturating_sub(range.start);
        if number % every == 0 {
            for (read, at) in [(before, range.start), (before.saturating_add(len), range.end)] {
                let (x, y) = (scaled(read, total, WIDTH), scaled(at, size, HEIGHT));
                corners.push(format!("{x},{y}"));
            }
        }
        before = before.saturating_add(len);
    }
    corners.join(" ")
}

fn sum(ranges: &[Range<u64>]) -> u64 {
    let bytes = ranges.iter().map(|range| range.end.saturating_sub(range.start));
    bytes.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_show_when_they_are_read_first() {
        let size = ROWS * CELLS * 10;
        let half = size / 2;
        let found = cells(&[half..half + 20, 0..10, half..half + 10, 5..6, size..size + 9], size);
        let middle = usize::try_from(ROWS * CELLS / 2).unwrap();
        assert_eq!(found[middle..middle + 3], [Some(0), Some(0), None]);
        assert_eq!(found[..2], [Some(4), None]);
        assert_eq!(runs(&found[..ROW]).len(), 2);
        assert!(cells(&[0..u64::MAX, u64::MAX - 1..u64::MAX], size).iter().all(Option::is_some));
        assert!(cells(&[0..1, 0..1], 0).iter().all(Option::is_none));
    }

    #[test]
    fn the_path_goes_where_reading_goes() {
        assert_eq!(path(&[50..100, 0..50], 100), "0,120 500,240 500,0 1000,120");
        let many: Vec<_> = (0..100_000).map(|at| at..at + 1).collect();
        let corners = path(&many, 100_000).split(' ').count();
        assert!(corners > CORNERS / 2 && corners <= CORNERS, "{corners}");
    }
}
