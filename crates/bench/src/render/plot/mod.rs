//! Draws a table as a picture.

mod bars;
mod colours;
mod frame;
mod points;
mod text;

use crate::results::{Plot, Table};

/// The picture of a table as SVG: light, or dark where the reader prefers that. Nothing if the table has no plot, or
/// no numbers for it.
pub(super) fn svg(table: &Table) -> Option<String> {
    match table.plot? {
        Plot::Bars(metric) => bars::draw(table, metric),
        Plot::Points { x, y } => points::draw(table, x, y),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::samples::{points, table},
        *,
    };
    use crate::results::Metric;

    #[test]
    fn bars_have_axes_and_a_legend() {
        let svg = svg(&table()).unwrap();
        for text in ["Builds of | a folder", "time, s", "lz4 &lt;4", "KiB&gt;", "mkfs.x", "lith"] {
            assert!(svg.contains(text), "{text} is missing in {svg}");
        }
        assert!(svg.contains("#D55E00"), "lith's colour");
    }

    #[test]
    fn rows_that_vary_have_whiskers() {
        let mut steady = table();
        for row in &mut steady.rows {
            row.samples.truncate(1);
        }
        let lines = |table| svg(table).unwrap().matches("<polyline").count();
        assert_eq!(lines(&table()) - lines(&steady), 3 * 3, "three rows, three lines each");
    }

    #[test]
    fn points_are_joined_by_series() {
        let svg = svg(&points()).unwrap();
        for text in ["Time and size", "size, MB", "time, s", "zstd|3 &amp; more"] {
            assert!(svg.contains(text), "{text} is missing in {svg}");
        }
        assert!(!svg.contains("<b>"));
    }

    #[test]
    fn what_has_no_plot_or_no_numbers_has_no_picture() {
        let mut table = table();
        table.plot = Some(Plot::Bars(Metric::Fetched));
        assert_eq!(svg(&table), None);
        table.plot = None;
        assert_eq!(svg(&table), None);
    }

    #[test]
    fn the_same_table_gives_the_same_picture() {
        assert_eq!(svg(&table()), svg(&table()));
    }
}
