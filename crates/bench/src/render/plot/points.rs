//! Draws a point for each row, joined by series.

use plotters::{
    element::PathElement,
    style::{Color, RGBColor},
};

use super::{
    super::units::Scale,
    colours,
    frame::{Area, Drawn, Frame, HEIGHT, Key, MARGIN, Mark, WIDTH, chart, whisker},
    text::{self, Anchor, LINE, SMALL},
};
use crate::results::{Metric, Row, Table};

/// Pixels that the labels of the x axis and its name take.
const BELOW: i32 = 50;

/// A row in the axes' units, with the least and the most of its y.
struct Point {
    at: (f64, f64),
    range: (f64, f64),
    name: String,
}

/// The points of a series, from left to right.
struct Line {
    points: Vec<Point>,
    colour: RGBColor,
    mark: Mark,
}

/// Pixels that are taken: left, top, right, bottom.
type Taken = (i32, i32, i32, i32);

struct Picture {
    lines: Vec<Line>,
    names: (String, String),
    most: (f64, f64),
    least: (f64, f64),
}

/// The whole picture, unless no row has both metrics.
pub(super) fn draw(table: &Table, x: Metric, y: Metric) -> Option<String> {
    let has = |row: &&Row| row.median(x).is_some() && row.median(y).is_some();
    let rows: Vec<&Row> = table.rows.iter().filter(has).collect();
    let largest = |metric| {
        rows.iter().filter_map(|row| row.range(metric)).map(|range| range.1).fold(0.0, f64::max)
    };
    let scales = (Scale::of(x, largest(x)), Scale::of(y, largest(y)));
    let point = |row: &Row| {
        let (least, most) = row.range(y)?;
        Some(Point {
            at: (row.median(x)? / scales.0.divisor, row.median(y)? / scales.1.divisor),
            range: (least / scales.1.divisor, most / scales.1.divisor),
            name: row.variant.clone(),
        })
    };
    let mut series = table.series();
    series.retain(|name| rows.iter().any(|row| row.series == *name));
    let colours = colours::of_series(&series);
    let mut lines = Vec::new();
    for (index, (name, colour)) in series.iter().zip(&colours).enumerate() {
        let own = rows.iter().filter(|row| row.series == *name);
        let mut points: Vec<Point> = own.filter_map(|row| point(row)).collect();
        points.sort_by(|a, b| a.at.0.total_cmp(&b.at.0));
        lines.push(Line { points, colour: *colour, mark: Mark::of_index(index) });
    }
    let keys = series.iter().zip(&lines);
    let keys = keys.map(|(name, line)| Key { name, colour: line.colour, mark: line.mark });
    let frame = Frame::new(&table.title, keys.collect(), WIDTH);
    let names = (scales.0.axis(x), scales.1.axis(y));
    let picture = Picture::new(lines, names)?;
    frame.picture(HEIGHT + BELOW + MARGIN, |root, area| picture.draw(root, area))
}

impl Picture {
    fn new(lines: Vec<Line>, names: (String, String)) -> Option<Self> {
        let points = || lines.iter().flat_map(|line| &line.points);
        let (low, high) = (f64::min, f64::max);
        let least = (
            points().map(|point| point.at.0).reduce(low)?,
            points().map(|point| point.range.0).reduce(low)?,
        );
        let most = (
            points().map(|point| point.at.0).reduce(high)?,
            points().map(|point| point.range.1).reduce(high)?,
        );
        let (x, y) = (span(least.0, most.0), span(least.1.min(0.0), most.1));
        Some(Self { lines, names, least: (x.0, y.0), most: (x.1, y.1) })
    }

    fn draw(&self, root: &Area<'_>, area: &Area<'_>) -> Drawn {
        let (x, y) = (self.least.0..self.most.0, self.least.1..self.most.1);
        let chart = chart(area, BELOW, (x, y), (Some(&self.names.0), &self.names.1))?;
        let place = |at: (f64, f64)| chart.backend_coord(&at);
        let (wide, high) = chart.plotting_area().get_pixel_range();
        for line in &self.lines {
            let path: Vec<_> = line.points.iter().map(|point| place(point.at)).collect();
            root.draw(&PathElement::new(path, line.colour.stroke_width(2)))?;
        }
        let mut taken: Vec<Taken> = Vec::new();
        for line in &self.lines {
            let places: Vec<_> = line.points.iter().map(|point| place(point.at)).collect();
            taken.extend(places.windows(2).flat_map(along));
        }
        for (line, point) in self.points() {
            let (x, y) = place(point.at);
            let ends = (place((point.at.0, point.range.0)).1, place((point.at.0, point.range.1)).1);
            if ends.0 != ends.1 {
                whisker(root, (x, ends.0), ends.1)?;
            }
            line.mark.draw(root, (x, y), line.colour)?;
            taken.push((x - 6, y.min(ends.1) - 6, x + 6, y.max(ends.0) + 6));
        }
        let bounds = (wide.start, high.start, wide.end, high.end);
        for (_, point) in self.points() {
            label(root, &point.name, place(point.at), (&mut taken, bounds))?;
        }
        Ok(())
    }

    fn points(&self) -> impl Iterator<Item = (&Line, &Point)> {
        self.lines.iter().flat_map(|line| line.points.iter().map(move |point| (line, point)))
    }
}

/// Names a point where its name overlaps nothing; without such a place the point has no name.
fn label(
    root: &Area<'_>,
    name: &str,
    (x, y): (i32, i32),
    (taken, bounds): (&mut Vec<Taken>, Taken),
) -> Drawn {
    let wide = text::width(name, SMALL);
    let (half, tall) = (wide / 2, LINE / 2);
    let places = [
        (x + 9, y, Anchor::Left, (x + 9, x + 9 + wide)),
        (x - 9, y, Anchor::Right, (x - 9 - wide, x - 9)),
        (x, y - 16, Anchor::Middle, (x - half, x + half)),
        (x, y + 16, Anchor::Middle, (x - half, x + half)),
        (x + 9, y - 14, Anchor::Left, (x + 9, x + 9 + wide)),
        (x + 9, y + 14, Anchor::Left, (x + 9, x + 9 + wide)),
    ];
    for (x, y, anchor, (left, right)) in places {
        let own = (left, y - tall, right, y + tall);
        let inside =
            left >= bounds.0 && own.1 >= bounds.1 && right <= bounds.2 && own.3 <= bounds.3;
        if inside && !taken.iter().any(|other| overlap(own, *other)) {
            taken.push(own);
            return root.draw_text(name, &text::style(SMALL, anchor), (x, y));
        }
    }
    Ok(())
}

/// Small boxes along a line.
fn along(ends: &[(i32, i32)]) -> Vec<Taken> {
    const STEPS: i32 = 24;
    let [from, to] = ends else { return Vec::new() };
    let between = |a: i32, b: i32, step: i32| a + (b - a) * step / STEPS;
    let spots = (0..=STEPS).map(|step| (between(from.0, to.0, step), between(from.1, to.1, step)));
    spots.map(|(x, y)| (x - 1, y - 1, x + 1, y + 1)).collect()
}

fn overlap(one: Taken, other: Taken) -> bool {
    one.0 < other.2 && other.0 < one.2 && one.1 < other.3 && other.1 < one.3
}

/// A range with margins on both sides; one that begins near zero begins there.
fn span(least: f64, most: f64) -> (f64, f64) {
    let room = if most > least { (most - least) * 0.12 } else { most.abs().max(1.0) * 0.1 };
    let from = if least >= 0.0 && least < most / 3.0 { 0.0 } else { least - room };
    (from, most + room)
}
