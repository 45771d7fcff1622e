//! Draws groups of bars: a group for each variant, in it a bar for each series.

use plotters::{
    element::Rectangle,
    style::{Color, RGBColor},
};

use super::{
    super::units::Scale,
    colours,
    frame::{Area, Chart, Drawn, Frame, HEIGHT, Key, MARGIN, Mark, SIDE, WIDTH, chart, whisker},
    text::{self, Anchor, LINE, SMALL},
};
use crate::results::{Metric, Row, Table};

/// The share of a group's width that its bars take.
const FILLED: f64 = 0.84;
/// Lines that a group's label may take before it is turned.
const MOST_LINES: usize = 4;
/// Letters of a turned label.
const MOST_LETTERS: usize = 40;
/// Pixels that a bar is wide at least.
const THIN: usize = 7;
/// Pixels that a bar is wide at most.
const THICK: i32 = 72;

/// One bar: its number in the axis's unit, and the least and the most of all rounds.
struct Bar {
    group: usize,
    /// Its place among the bars of the group, and how many these are.
    slot: (usize, usize),
    colour: RGBColor,
    value: f64,
    range: (f64, f64),
    label: String,
}

struct Labels {
    lines: Vec<Vec<String>>,
    turned: bool,
}

/// The whole picture, unless no row has the metric.
pub(super) fn draw(table: &Table, metric: Metric) -> Option<String> {
    let has = |row: &&Row| row.median(metric).is_some();
    let rows: Vec<&Row> = table.rows.iter().filter(has).collect();
    let mut series = table.series();
    series.retain(|name| rows.iter().any(|row| row.series == *name));
    let mut variants = table.variants();
    variants.retain(|name| rows.iter().any(|row| row.variant == *name));
    let colours = colours::of_series(&series);

    let ranges = rows.iter().filter_map(|row| row.range(metric));
    let scale = Scale::of(metric, ranges.map(|range| range.1).fold(0.0, f64::max));
    let keys: Vec<_> = series.iter().copied().zip(colours).collect();
    let groups = variants.iter().enumerate();
    let bars: Vec<Bar> = groups
        .flat_map(|(group, variant)| bars(table, (group, variant), &keys, (metric, scale)))
        .collect();
    let most = bars.iter().map(|bar| bar.slot.1).max()?;

    let wide = variants.len() * (most * THIN + 6).max(18);
    let width = WIDTH.max(i32::try_from(wide).ok()? + SIDE + 2 * MARGIN);
    let group = (width - SIDE - 2 * MARGIN) / i32::try_from(variants.len()).ok()?;
    let labels = Labels::of(&variants, group);

    let keys = keys.into_iter().map(|(name, colour)| Key { name, colour, mark: Mark::Square });
    let frame = Frame::new(&table.title, keys.collect(), width);
    let picture = Picture { bars, most, labels, groups: variants.len(), axis: scale.axis(metric) };
    frame.picture(HEIGHT + picture.labels.height() + MARGIN, |root, area| picture.draw(root, area))
}

/// The bars of a group, in the order of their series.
fn bars(
    table: &Table,
    (group, variant): (usize, &str),
    series: &[(&str, RGBColor)],
    (metric, scale): (Metric, Scale),
) -> Vec<Bar> {
    let bar = |(name, colour): &(&str, RGBColor)| {
        let row = table.row(name, variant)?;
        let (value, (least, most)) = row.median(metric).zip(row.range(metric))?;
        Some(Bar {
            group,
            slot: (0, 0),
            colour: *colour,
            value: value / scale.divisor,
            range: (least / scale.divisor, most / scale.divisor),
            label: scale.label(value),
        })
    };
    let mut bars: Vec<Bar> = series.iter().filter_map(bar).collect();
    let all = bars.len();
    for (index, bar) in bars.iter_mut().enumerate() {
        bar.slot = (index, all);
    }
    bars
}

impl Labels {
    fn of(variants: &[&str], group: i32) -> Self {
        let room = group - 8;
        let lines: Vec<_> = variants.iter().map(|name| text::wrapped(name, SMALL, room)).collect();
        let fits = |lines: &Vec<String>| {
            lines.len() <= MOST_LINES && lines.iter().all(|line| text::width(line, SMALL) <= room)
        };
        if lines.iter().all(fits) {
            return Self { lines, turned: false };
        }
        let lines = variants.iter().map(|name| vec![text::shortened(name, MOST_LETTERS)]).collect();
        Self { lines, turned: true }
    }

    fn height(&self) -> i32 {
        let all = self.lines.iter();
        let needed = if self.turned {
            all.flatten().map(|line| text::width(line, SMALL)).max()
        } else {
            all.map(|lines| i32::try_from(lines.len()).unwrap_or(0) * LINE).max()
        };
        needed.unwrap_or(0) + 10
    }

    fn draw(&self, root: &Area<'_>, group: usize, (x, y): (i32, i32)) -> Drawn {
        let lines = self.lines.get(group).into_iter().flatten();
        if self.turned {
            let style = text::style(SMALL, Anchor::Upwards);
            return lines.into_iter().try_for_each(|line| root.draw_text(line, &style, (x, y + 8)));
        }
        let style = text::style(SMALL, Anchor::Middle);
        let mut y = y + 6 + LINE / 2;
        for line in lines {
            root.draw_text(line, &style, (x, y))?;
            y += LINE;
        }
        Ok(())
    }
}

struct Picture {
    bars: Vec<Bar>,
    /// Bars of the fullest group.
    most: usize,
    labels: Labels,
    groups: usize,
    axis: String,
}

impl Picture {
    fn draw(&self, root: &Area<'_>, area: &Area<'_>) -> Drawn {
        let (least, most) = self.bars.iter().fold((0.0_f64, 0.0_f64), |(least, most), bar| {
            (least.min(bar.range.0), most.max(bar.range.1))
        });
        let most = if most > least { most } else { least + 1.0 };
        let spare = (most - least) * 0.08;
        let x = 0.0..number(self.groups);
        let y = if least < 0.0 { least - spare } else { 0.0 }..most + spare;
        let chart = chart(area, self.labels.height(), (x, y), (None, &self.axis))?;
        for group in 0..self.groups {
            let bottom = chart.plotting_area().get_pixel_range().1.end;
            let (x, _) = chart.backend_coord(&(number(group) + 0.5, 0.0));
            self.labels.draw(root, group, (x, bottom))?;
        }
        self.bars.iter().try_for_each(|bar| self.bar(root, &chart, bar))
    }

    fn bar(&self, root: &Area<'_>, chart: &Chart<'_, '_>, bar: &Bar) -> Drawn {
        let group = chart.plotting_area().dim_in_pixel().0;
        let thick = f64::from(THICK) * number(self.groups) / f64::from(group);
        let share = (FILLED / number(self.most)).min(thick);
        let (slot, slots) = bar.slot;
        let left = number(bar.group) + (1.0 - share * number(slots)) / 2.0 + share * number(slot);
        let (x0, base) = chart.backend_coord(&(left, 0.0));
        let (x1, top) = chart.backend_coord(&(left + share, bar.value));
        root.draw(&Rectangle::new(
            [(x0, top.min(base)), (x1 - 1, top.max(base))],
            bar.colour.filled(),
        ))?;

        let middle = i32::midpoint(x0, x1);
        let (_, low) = chart.backend_coord(&(left, bar.range.0));
        let (_, high) = chart.backend_coord(&(left, bar.range.1));
        if low != high {
            whisker(root, (middle, low), high)?;
        }
        if self.labels_fit(x1 - x0) && bar.value >= 0.0 {
            root.draw_text(
                &bar.label,
                &text::style(SMALL, Anchor::Middle),
                (middle, high.min(top) - 9),
            )?;
        }
        Ok(())
    }

    /// Whether each bar's number fits above it.
    fn labels_fit(&self, width: i32) -> bool {
        self.bars.iter().all(|bar| text::width(&bar.label, SMALL) <= width)
    }
}

/// A small count as a coordinate.
fn number(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}
