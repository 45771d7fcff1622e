//! Draws treemaps, in which areas are proportional to bytes.
//!
//! The width of a treemap is known to the browser only: horizontal positions are percent of it, vertical ones pixels.
//! Labels are shown where they fit for certain: in any treemap, or only in wide ones.

use crate::{
    facts::{Folder, FolderFile, Sums, TypeSums},
    number::ratio,
};

use super::text::{anchor, figures, shown};

/// Pixels of the width that a treemap is laid out for, of the narrowest one, and of the height.
const WIDTH: f64 = 460.0;
const NARROW: f64 = 312.0;
pub(super) const HEIGHT: f64 = 400.0;
/// Pixels of the height of a line, of the width of an average character, and of the padding of text.
const LINE: f64 = 18.0;
const CHARACTER: f64 = 7.2;
const AROUND: f64 = 8.0;
/// Pixels between the edges of a folder and of the areas in it.
const PADDING: f64 = 2.0;
/// Areas of fewer square pixels are not drawn on their own.
const SMALLEST: f64 = 24.0;
/// Nested folders that are drawn.
const LEVELS: usize = 7;
/// The fewest characters that a label is cut to.
const SHORTEST: usize = 5;

/// Which bytes determine the areas.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum By {
    /// Bytes of files.
    Bytes,
    /// Stored bytes.
    Stored,
}

impl By {
    const fn of(self, sums: &Sums) -> u64 {
        match self {
            Self::Bytes => sums.bytes,
            Self::Stored => sums.stored,
        }
    }
}

/// An area of a treemap.
#[derive(Clone, Debug)]
pub(super) struct Tile {
    /// Percent of the width.
    pub(super) x: String,
    pub(super) width: String,
    /// Pixels.
    pub(super) y: String,
    pub(super) height: String,
    /// The baseline of the label.
    pub(super) baseline: String,
    /// How well it is compressed, from 0 to 9.
    pub(super) step: u8,
    /// The label, if one fits.
    pub(super) label: Option<String>,
    /// Whether the label fits only in wide treemaps.
    pub(super) wide_only: bool,
    /// The tooltip.
    pub(super) title: String,
    /// The id of what the page says of it, or of the folder that contains it.
    pub(super) target: String,
}

#[derive(Clone, Copy, Debug)]
struct Area {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

impl Area {
    const WHOLE: Self = Self { x: 0.0, y: 0.0, width: WIDTH, height: HEIGHT };

    fn size(&self) -> f64 {
        self.width * self.height
    }

    /// The area within the padding, below the label if there is one.
    fn inside(&self, has_label: bool) -> Self {
        let top = if has_label { LINE } else { PADDING };
        Self {
            x: self.x + PADDING,
            y: self.y + top,
            width: (self.width - 2.0 * PADDING).max(0.0),
            height: (self.height - top - PADDING).max(0.0),
        }
    }

    /// Cuts a strip of `area` square pixels along the shorter side; returns it and the rest.
    fn split(&self, area: f64) -> (Self, Self) {
        let Self { x, y, width, height } = *self;
        if width >= height {
            let taken = if height > 0.0 { (area / height).min(width) } else { 0.0 };
            let rest = Self { x: x + taken, width: width - taken, ..*self };
            (Self { width: taken, ..*self }, rest)
        } else {
            let taken = if width > 0.0 { (area / width).min(height) } else { 0.0 };
            let rest = Self { y: y + taken, height: height - taken, ..*self };
            (Self { height: taken, ..*self }, rest)
        }
    }
}

/// The treemap of folders.
pub(super) fn of_folders(root: &Folder, by: By) -> Vec<Tile> {
    let mut tiles = Vec::new();
    draw_inside(root, "/", by, (Area::WHOLE, 0), &mut tiles);
    tiles
}

/// The treemap of types of files.
pub(super) fn of_types(types: &[TypeSums], by: By) -> Vec<Tile> {
    let mut types: Vec<_> = types.iter().collect();
    types.sort_by_cached_key(|sums| std::cmp::Reverse(by.of(&sums.all)));
    let weights: Vec<_> = types.iter().map(|sums| by.of(&sums.all)).collect();
    let areas = squarify(&weights, Area::WHOLE);
    let drawn = types.iter().zip(areas).filter(|(_, area)| area.size() >= SMALLEST);
    let drawn = drawn.map(|(sums, area)| {
        let tile = tile(&area, &sums.all, &sums.name, &sums.name);
        Tile { target: anchor(&sums.name), ..tile }
    });
    drawn.collect()
}

/// Draws the content of the folder `path` into an area.
fn draw_inside(
    folder: &Folder,
    path: &str,
    by: By,
    (area, level): (Area, usize),
    tiles: &mut Vec<Tile>,
) {
    let mut parts: Vec<_> = folder.folders.iter().map(Part::Folder).collect();
    parts.extend(folder.large_files.iter().map(Part::File));
    parts.push(Part::Rest(&folder.rest));
    parts.sort_by_cached_key(|part| std::cmp::Reverse(by.of(&part.sums())));
    let weights: Vec<_> = parts.iter().map(|part| by.of(&part.sums())).collect();
    for (part, area) in parts.into_iter().zip(squarify(&weights, area)) {
        if area.size() < SMALLEST {
            continue;
        }
        let (name, what) = match part {
            Part::Folder(Folder { name, .. }) | Part::File(FolderFile { name, .. }) => {
                (shown(&name.0), format!("{path}{}", shown(&name.0)))
            }
            Part::Rest(_) => ("(others)".to_owned(), format!("others in {path}")),
        };
        let listed =
            if matches!(part, Part::Folder(_)) { &what } else { path.trim_end_matches('/') };
        let drawn = Tile { target: anchor(listed), ..tile(&area, &part.sums(), &name, &what) };
        let inside = area.inside(drawn.label.is_some());
        tiles.push(drawn);
        let fits = inside.width > 4.0 * PADDING && inside.height > 4.0 * PADDING;
        if let Part::Folder(inner) = part
            && !(inner.folders.is_empty() && inner.large_files.is_empty())
            && fits
            && level + 1 < LEVELS
        {
            draw_inside(inner, &format!("{what}/"), by, (inside, level + 1), tiles);
        }
    }
}

/// What an area in a folder represents.
#[derive(Clone, Copy)]
enum Part<'a> {
    Folder(&'a Folder),
    File(&'a FolderFile),
    /// All others.
    Rest(&'a Sums),
}

impl Part<'_> {
    fn sums(&self) -> Sums {
        match self {
            Self::Folder(folder) => folder.all,
            Self::File(file) => file.sums(),
            Self::Rest(rest) => **rest,
        }
    }
}

fn tile(area: &Area, sums: &Sums, name: &str, what: &str) -> Tile {
    let percent = |pixels: f64| format!("{:.2}%", pixels / WIDTH * 100.0);
    let label = fitting(name, area.width - AROUND).filter(|_| area.height >= LINE);
    let narrow = area.width * NARROW / WIDTH - AROUND;
    Tile {
        x: percent(area.x),
        width: percent(area.width),
        y: format!("{:.1}", area.y),
        height: format!("{:.1}", area.height),
        baseline: format!("{:.1}", area.y + 13.0),
        step: step(sums),
        wide_only: label.as_ref().is_some_and(|label| length(label) > narrow),
        label,
        title: format!("{what}: {}", figures(sums)),
        target: String::new(),
    }
}

/// How well something is compressed, from 0 to 9.
fn step(sums: &Sums) -> u8 {
    let tenths = (u128::from(sums.stored) * 10).checked_div(u128::from(sums.bytes)).unwrap_or(0);
    u8::try_from(tenths.min(9)).unwrap_or(9)
}

/// Pixels of a text, rather too many.
fn length(text: &str) -> f64 {
    let width = |c: char| if c.is_ascii() { CHARACTER } else { 2.0 * CHARACTER };
    text.chars().map(width).sum()
}

/// The beginning of a text that fits `pixels`; `None` if that is too short to be useful.
fn fitting(text: &str, pixels: f64) -> Option<String> {
    if length(text) <= pixels {
        return Some(text.to_owned());
    }
    let (mut used, mut cut) = (2.0 * CHARACTER, String::new());
    for c in text.chars() {
        used += length(c.encode_utf8(&mut [0; 4]));
        if used > pixels {
            break;
        }
        cut.push(c);
    }
    (cut.chars().count() >= SHORTEST).then(|| cut + "\u{2026}")
}

/// Divides an area by weights in descending order into parts that are as square as possible: rows along the shorter side
/// are filled as long as that makes their parts squarer (Bruls, Huizing, van Wijk: Squarified Treemaps, 2000).
fn squarify(weights: &[u64], area: Area) -> Vec<Area> {
    let total = weights.iter().fold(0, |sum: u64, weight| sum.saturating_add(*weight));
    let whole = area.size();
    let sizes: Vec<f64> =
        weights.iter().map(|weight| ratio(*weight, total).unwrap_or(0.0) * whole).collect();
    let (mut areas, mut rest, mut from) = (Vec::with_capacity(sizes.len()), area, 0);
    while from < sizes.len() {
        let side = rest.width.min(rest.height);
        let left = sizes.get(from..).unwrap_or_default();
        let count = row_length(left, side);
        let row = left.get(..count).unwrap_or_default();
        let (strip, after) = rest.split(row.iter().sum());
        fill(row, strip, rest.width >= rest.height, &mut areas);
        (rest, from) = (after, from + count);
    }
    areas
}

/// The number of parts in a row along a side of this length; at least 1.
fn row_length(sizes: &[f64], side: f64) -> usize {
    let (mut sum, mut worst, mut largest) = (0.0, f64::INFINITY, 0.0_f64);
    for (count, size) in sizes.iter().enumerate() {
        sum += size;
        largest = largest.max(*size);
        let (square, sums) = (side * side, sum * sum);
        let ratio = if *size > 0.0 && square > 0.0 {
            (square * largest / sums).max(sums / (square * size))
        } else {
            f64::INFINITY
        };
        if ratio > worst {
            return count.max(1);
        }
        worst = ratio;
    }
    sizes.len().max(1)
}

/// Divides a strip among the parts of a row, from top to bottom or from left to right.
fn fill(row: &[f64], strip: Area, is_column: bool, areas: &mut Vec<Area>) {
    let sum: f64 = row.iter().sum();
    let mut at = 0.0;
    for size in row {
        let part = if sum > 0.0 { size / sum } else { 0.0 };
        areas.push(if is_column {
            let height = strip.height * part;
            Area { y: strip.y + strip.height * at, height, ..strip }
        } else {
            let width = strip.width * part;
            Area { x: strip.x + strip.width * at, width, ..strip }
        });
        at += part;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Named;

    #[test]
    fn parts_have_their_areas_and_do_not_overlap() {
        let weights = [600, 600, 400, 300, 200, 200, 100, 1, 0];
        let areas = squarify(&weights, Area::WHOLE);
        assert_eq!(areas.len(), weights.len());
        let unit = WIDTH * HEIGHT / 2401.0;
        for (area, weight) in areas.iter().zip([600.0, 600.0, 400.0, 300.0, 200.0]) {
            assert!((area.size() - weight * unit).abs() < 1e-6, "{area:?}");
            assert!(area.width / area.height < 3.0 && area.height / area.width < 3.0, "{area:?}");
        }
        for (number, one) in areas.iter().enumerate() {
            assert!(one.x >= 0.0 && one.x + one.width < WIDTH + 1e-6, "{one:?}");
            assert!(one.y >= 0.0 && one.y + one.height < HEIGHT + 1e-6, "{one:?}");
            for other in &areas[..number] {
                let apart = one.x >= other.x + other.width - 1e-6
                    || other.x >= one.x + one.width - 1e-6
                    || one.y >= other.y + other.height - 1e-6
                    || other.y >= one.y + one.height - 1e-6;
                assert!(apart, "{one:?} {other:?}");
            }
        }
        assert_eq!(squarify(&[0, 0], Area::WHOLE).len(), 2);
        assert_eq!(squarify(&[], Area::WHOLE).len(), 0);
    }

    #[test]
    fn labels_are_cut_or_left_out() {
        assert_eq!(fitting("share", 40.0).as_deref(), Some("share"));
        assert_eq!(fitting("a long name", 60.0).as_deref(), Some("a long\u{2026}"));
        assert_eq!(fitting("a long name", 40.0), None);
    }

    #[test]
    fn steps_go_from_best_to_worst() {
        let steps = [(0, 100), (37, 100), (100, 100), (500, 100), (0, 0)];
        let steps = steps.map(|(stored, bytes)| step(&Sums { files: 1, bytes, stored }));
        assert_eq!(steps, [0, 3, 9, 9, 0]);
    }

    #[test]
    fn folders_are_nested() {
        let folder = |name: &str, bytes, folders: Vec<Folder>| {
            let all = Sums { files: 1, bytes, stored: bytes / 2 };
            let inner = folders.iter().map(|f: &Folder| f.all.bytes).sum::<u64>();
            let rest = Sums { files: 0, bytes: bytes - inner, stored: (bytes - inner) / 2 };
            Folder { name: Named(name.into()), all, rest, large_files: Vec::new(), folders }
        };
        let lib = folder("lib", 600, vec![]);
        let root = folder("", 1000, vec![folder("usr", 900, vec![lib])]);
        let tiles = of_folders(&root, By::Bytes);
        let found: Vec<_> =
            tiles.iter().map(|tile| tile.title.split(':').next().unwrap()).collect();
        assert_eq!(found, ["/usr", "/usr/lib", "others in /usr/", "others in /"]);
        assert_eq!(tiles[1].label.as_deref(), Some("lib"));
        let targets: Vec<_> = tiles.iter().map(|tile| &*tile.target).collect();
        assert_eq!(targets, ["/usr", "/usr/lib", "/usr", ""].map(anchor));
    }
}
