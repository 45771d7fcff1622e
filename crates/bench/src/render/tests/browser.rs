//! Tests of the page in a browser.

use std::fs;

use lith_testkit::oracle::browser::Browser;
use serde::Deserialize;

use super::{
    super::{page, plot::svg},
    samples,
};
use crate::results::{Metric, Plot, Results, Table};

/// What a script of the test finds in a page.
#[derive(Debug, Deserialize)]
struct Measured {
    window: u32,
    /// Width of the page in pixels.
    width: u32,
    tables: usize,
    plots: usize,
    /// The height of the smallest letters in plots.
    smallest: f64,
    /// Texts that extend beyond their plot.
    outside: Vec<String>,
    /// Texts of a plot that overlap.
    overlapping: Vec<(String, String)>,
}

/// Plots with more names, and longer ones, than fit.
fn crowded() -> Results {
    let mut results = samples::results();
    let plots = [
        Plot::Bars(Metric::Wall),
        Plot::Bars(Metric::Size),
        Plot::Points { x: Metric::Size, y: Metric::Wall },
    ];
    let shapes = [(1, 1), (3, 2), (4, 30), (9, 4), (6, 7), (2, 60)];
    for (series, variants) in shapes {
        results.suites[0].tables.extend(plots.map(|plot| table(series, variants, plot)));
    }
    results
}

fn table(series: u32, variants: u32, plot: Plot) -> Table {
    let mut table = samples::table();
    table.name = format!("{series}-{variants}-{plot:?}");
    table.title =
        format!("A title of many words for {series} series and {variants} variants ").repeat(2);
    table.rows.clear();
    for who in 0..series {
        for what in 0..variants {
            let time = f64::from(who * 7 % 5 + what * 11 % 13 + 1);
            let series = format!("contender <{who}> with a name of its own");
            let variant = format!("algorithm_number_{what}, {} KiB & more of it", what * 4);
            let walls = [time, time * 1.1, time * 0.8];
            table.rows.push(samples::row(&series, &variant, walls, 1e5 / time));
        }
    }
    table.plot = Some(plot);
    table
}

fn measure(browser: &Browser, page: &str, width: u32) -> Measured {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    fs::write(&path, page).unwrap();
    let found = browser.evaluate(&path, (width, 800), include_str!("measure.js"));
    serde_json::from_value(found).unwrap()
}

#[test]
fn a_page_fits_any_window_and_its_plots_are_readable() {
    let Some(browser) = Browser::find() else { return };
    for results in [samples::results(), crowded()] {
        let page = page(&results);
        let tables: Vec<_> = results.suites.iter().flat_map(|suite| &suite.tables).collect();
        for width in [360, 1280] {
            let found = measure(&browser, &page, width);
            assert_eq!(found.window, width);
            assert!(found.width <= width, "{} pixels in a window of {width}", found.width);
            assert_eq!(found.tables, tables.len());
            assert_eq!(found.plots, tables.iter().filter(|table| table.plot.is_some()).count());
            assert!(found.smallest >= 12.0, "{}", found.smallest);
            assert_eq!(found.outside, Vec::<String>::new());
            assert_eq!(found.overlapping, Vec::new());
        }
    }
}

#[test]
fn a_picture_is_a_file_of_its_own() {
    let Some(browser) = Browser::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plot.svg");
    for table in [samples::table(), samples::points()] {
        fs::write(&path, svg(&table).unwrap()).unwrap();
        let seen = browser.look(&path, (800, 600));
        assert!(!seen.dom.contains("parsererror"), "{}", seen.dom);
        assert!(seen.dom.contains("</svg>"));
    }
}

#[test]
fn a_page_breaks_no_policy_of_its_own() {
    let Some(browser) = Browser::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    fs::write(&path, page(&samples::results())).unwrap();
    let seen = browser.look(&path, (360, 800));
    assert_eq!(seen.console, Vec::<String>::new());
    assert!(seen.dom.contains("Results of lith bench"));
}
