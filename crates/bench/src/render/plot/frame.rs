//! Draws what all pictures have around their data: title, legend, and colours for dark mode.

use std::{fmt::Write, io, ops::Range};

use plotters::{
    chart::{ChartBuilder, ChartContext, LabelAreaPosition},
    coord::{Shift, types::RangedCoordf64},
    drawing::DrawingArea,
    element::{Circle, Cross, PathElement, Rectangle, TriangleMarker},
    prelude::{Cartesian2d, DrawingAreaErrorKind, IntoDrawingArea, SVGBackend},
    style::{Color, RGBColor, TRANSPARENT},
};

use super::{
    super::units,
    colours::{CARD, DARK, GRID, INK},
    text::{self, Anchor, LARGE, LINE, SMALL},
};

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type Chart<'a, 'b> =
    ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
pub(super) type Drawn<T = ()> = Result<T, DrawingAreaErrorKind<io::Error>>;

/// Pixels between the border and what is inside.
pub(super) const MARGIN: i32 = 16;
/// Pixels that the labels of the y axis take.
pub(super) const SIDE: i32 = 76;
/// Pixels that the data takes from bottom to top.
pub(super) const HEIGHT: i32 = 280;
/// Pixels that a picture is wide at least.
pub(super) const WIDTH: i32 = 720;

const SWATCH: i32 = 12;

pub(super) struct Key<'a> {
    pub(super) name: &'a str,
    pub(super) colour: RGBColor,
    pub(super) mark: Mark,
}

/// What the data of a series is drawn with.
#[derive(Clone, Copy)]
pub(super) enum Mark {
    Square,
    Circle,
    Triangle,
    Cross,
}

impl Mark {
    /// Different ones for series that follow each other.
    pub(super) fn of_index(index: usize) -> Self {
        match index % 4 {
            0 => Self::Circle,
            1 => Self::Square,
            2 => Self::Triangle,
            _ => Self::Cross,
        }
    }

    pub(super) fn draw(self, area: &Area<'_>, (x, y): (i32, i32), colour: RGBColor) -> Drawn {
        match self {
            Self::Square => {
                area.draw(&Rectangle::new([(x - 5, y - 5), (x + 5, y + 5)], colour.filled()))
            }
            Self::Circle => area.draw(&Circle::new((x, y), 5, colour.filled())),
            Self::Triangle => area.draw(&TriangleMarker::new((x, y), 7, colour.filled())),
            Self::Cross => area.draw(&Cross::new((x, y), 5, colour.stroke_width(3))),
        }
    }
}

/// What is laid out above the data.
pub(super) struct Frame<'a> {
    title: Vec<String>,
    keys: Vec<((i32, i32), Key<'a>)>,
    /// Pixels that all of it takes.
    pub(super) height: i32,
    width: i32,
}

impl<'a> Frame<'a> {
    pub(super) fn new(title: &str, keys: Vec<Key<'a>>, width: i32) -> Self {
        let inside = width - 2 * MARGIN;
        let title = text::wrapped(title, LARGE, inside);
        let lines = i32::try_from(title.len()).unwrap_or(i32::MAX);
        let (mut x, mut y) = (MARGIN, MARGIN + lines.saturating_mul(LARGE + 6) + LINE / 2);
        let mut placed = Vec::new();
        for key in keys {
            let wide = SWATCH + 6 + text::width(key.name, SMALL);
            if x > MARGIN && x + wide > width - MARGIN {
                (x, y) = (MARGIN, y + LINE + 4);
            }
            placed.push(((x, y), key));
            x += wide + 16;
        }
        Self { title, keys: placed, height: y + LINE, width }
    }

    fn draw(&self, area: &Area<'_>) -> Drawn {
        let mut y = MARGIN + LARGE / 2;
        for line in &self.title {
            area.draw_text(line, &text::style(LARGE, Anchor::Left), (MARGIN, y))?;
            y += LARGE + 6;
        }
        for ((x, y), key) in &self.keys {
            key.mark.draw(area, (x + SWATCH / 2, *y), key.colour)?;
            let place = (x + SWATCH + 6, *y);
            let room = usize::try_from((self.width - MARGIN - place.0) / 8).unwrap_or(0);
            area.draw_text(
                &text::shortened(key.name, room),
                &text::style(SMALL, Anchor::Left),
                place,
            )?;
        }
        Ok(())
    }

    /// The whole picture, with the data that is drawn below the frame on as many pixels.
    pub(super) fn picture(
        &self,
        below: i32,
        data: impl FnOnce(&Area<'_>, &Area<'_>) -> Drawn,
    ) -> Option<String> {
        let size = (u32::try_from(self.width).ok()?, u32::try_from(self.height + below).ok()?);
        let mut drawn = String::new();
        {
            let root = SVGBackend::with_string(&mut drawn, size).into_drawing_area();
            self.draw(&root).ok()?;
            let (_, lower) = root.split_vertically(self.height);
            data(&root, &lower).ok()?;
            root.present().ok()?;
        }
        themed(&drawn, &self.title.join(" "), size)
    }
}

/// Axes with names and a grid, and labels that take `below` pixels below the data. Without a name
/// the x axis is not drawn.
pub(super) fn chart<'a, 'b>(
    area: &'a Area<'b>,
    below: i32,
    (x, y): (Range<f64>, Range<f64>),
    (x_name, y_name): (Option<&str>, &str),
) -> Drawn<Chart<'a, 'b>> {
    let mut chart = ChartBuilder::on(area)
        .set_label_area_size(LabelAreaPosition::Left, SIDE)
        .set_label_area_size(LabelAreaPosition::Bottom, below)
        .margin_left(MARGIN / 2)
        .margin_right(MARGIN)
        .margin_bottom(MARGIN)
        .build_cartesian_2d(x, y)?;
    let tick = |value: &f64| units::tick(*value);
    let mut mesh = chart.configure_mesh();
    mesh.y_labels(6)
        .max_light_lines(1)
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .axis_style(INK)
        .y_label_style(text::style(SMALL, Anchor::Right))
        .y_label_formatter(&tick)
        .axis_desc_style(text::style(SMALL, Anchor::Middle))
        .y_desc(y_name);
    match x_name {
        Some(name) => mesh
            .x_labels(8)
            .x_label_style(text::style(SMALL, Anchor::Middle))
            .x_label_formatter(&tick)
            .x_desc(name),
        None => mesh.disable_x_mesh().disable_x_axis().x_labels(0),
    };
    mesh.draw()?;
    drop(mesh);
    Ok(chart)
}

/// A line from the least to the most, with a short line across each end.
pub(super) fn whisker(area: &Area<'_>, (x, low): (i32, i32), high: i32) -> Drawn {
    for line in
        [[(x, low), (x, high)], [(x - 3, low), (x + 3, low)], [(x - 3, high), (x + 3, high)]]
    {
        area.draw(&PathElement::new(line, INK.stroke_width(1)))?;
    }
    Ok(())
}

/// The picture as an SVG with a title for screen readers and with other colours in dark mode.
fn themed(drawn: &str, title: &str, (width, height): (u32, u32)) -> Option<String> {
    let (opening, content) = drawn.split_once(">\n")?;
    let opening = opening.strip_prefix("<svg")?;
    let mut style = String::from("@media (prefers-color-scheme: dark) {");
    for (light, dark) in DARK {
        for part in ["fill", "stroke"] {
            let (light, dark) = (hex(light), hex(dark));
            write!(style, r#" .lith-bench [{part}="{light}"] {{ {part}: {dark} }}"#).ok()?;
        }
    }
    style.push_str(" }");
    let title = title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let (card, border) = (hex(CARD), hex(GRID));
    let (inner_width, inner_height) = (width - 1, height - 1);
    Some(format!(
        "<svg class=\"lith-bench\" role=\"img\"{opening}>\n<title>{title}</title>\n<style>{style}</style>\n\
         <rect x=\"0.5\" y=\"0.5\" width=\"{inner_width}\" height=\"{inner_height}\" rx=\"6\" fill=\"{card}\" \
         stroke=\"{border}\"/>\n{content}"
    ))
}

fn hex(colour: RGBColor) -> String {
    let RGBColor(red, green, blue) = colour;
    format!("#{red:02X}{green:02X}{blue:02X}")
}
