//! Made-up results for tests, with names that no format may interpret.

use crate::results::{
    Corpus, Limit, Machine, Metric, Plot, Program, Results, Row, Sample, Suite, Table, Target,
};

/// Two suites with plots of both kinds.
pub(in crate::render) fn results() -> Results {
    Results {
        machine: Machine {
            date: "2026-01-31".into(),
            kernel: "6.18.0".into(),
            cpu: "Example <CPU> & Co".into(),
            cores: 2,
            memory: 8_000_000_000,
            cold: true,
        },
        command: "lith bench build reading --repeat 3".into(),
        repeat: 3,
        programs: vec![
            Program { name: "lith".into(), version: "0.1.0".into() },
            Program { name: "mkfs.x".into(), version: "1.9".into() },
        ],
        left_out: vec!["F2FS: the kernel has none".into()],
        suites: vec![
            suite("build", "Builds <&> images", vec![table()]),
            suite("reading", "Reads", vec![points(), without_plot()]),
        ],
    }
}

fn suite(name: &str, title: &str, tables: Vec<Table>) -> Suite {
    let about = "Both do `the same` in turn.".into();
    Suite { name: name.into(), title: title.into(), about, tables }
}

/// Four rows in two series, with targets and a plot of bars.
pub(in crate::render) fn table() -> Table {
    let target = |limit| Target { metric: Metric::Wall, relative: true, limit: Limit::Most(limit) };
    let mut rows = vec![
        row("mkfs.x", "lz4 <4 KiB>", [3.0, 3.1, 2.9], 1000.0),
        row("mkfs.x", "zstd|3 & more", [4.0, 4.0, 4.0], 800.0),
        row("lith", "lz4 <4 KiB>", [1.5, 1.5, 1.6], 990.0),
        row("lith", "zstd|3 & more", [3.9, 4.1, 4.0], 820.0),
    ];
    for (index, limit) in [(2, 0.9), (3, 0.9)] {
        rows[index].against = Some(index - 2);
        rows[index].targets = vec![target(limit)];
    }
    Table {
        name: "lz4".into(),
        title: "Builds of | a folder".into(),
        about: "`lith build -zlz4`".into(),
        corpus: Corpus { name: "made_up".into(), inodes: 1234, bytes: 5_000_000 },
        shown: vec![Metric::Wall, Metric::Size, Metric::ServerCpu],
        rows,
        plot: Some(Plot::Bars(Metric::Wall)),
    }
}

/// Rows whose points are joined.
pub(in crate::render) fn points() -> Table {
    let mut table = table();
    table.name = "points".into();
    table.title = "Time and size".into();
    table.plot = Some(Plot::Points { x: Metric::Size, y: Metric::Wall });
    table
}

fn without_plot() -> Table {
    let mut table = table();
    table.name = "plain".into();
    table.plot = None;
    table.rows.retain(|row| row.series == "mkfs.x");
    for row in &mut table.rows {
        row.variant.clear();
    }
    table
}

/// A row with a time for each round, and a size that is the same in all of them.
pub(in crate::render) fn row(series: &str, variant: &str, walls: [f64; 3], kilobytes: f64) -> Row {
    let sample = |wall| Sample::from([(Metric::Wall, wall), (Metric::Size, kilobytes * 1024.0)]);
    Row {
        series: series.into(),
        variant: variant.into(),
        commands: vec![format!("{series} FOLDER IMAGE"), "sync".into()],
        samples: walls.map(sample).to_vec(),
        against: None,
        targets: Vec::new(),
    }
}
