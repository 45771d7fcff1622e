//! Lays out the cells of a table, for any output format.

use std::collections::BTreeSet;

use serde::Serialize;

use super::units;
use crate::results::{Machine, Metric, Program, Results, Row, Suite, Table};

/// Cells as plain text.
pub(super) struct Grid {
    pub(super) heads: Vec<Head>,
    /// A text for each column.
    pub(super) rows: Vec<Vec<String>>,
}

#[derive(Serialize)]
pub(super) struct Head {
    pub(super) text: String,
    /// Whether the column holds numbers.
    pub(super) numeric: bool,
}

/// Which parts of a table are shown; an empty list selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Selection {
    pub(super) metrics: Vec<Metric>,
    pub(super) series: Vec<String>,
    pub(super) variants: Vec<String>,
}

impl Head {
    fn words(text: impl Into<String>) -> Self {
        Self { text: text.into(), numeric: false }
    }

    fn numbers(text: impl Into<String>) -> Self {
        Self { text: text.into(), numeric: true }
    }
}

impl Selection {
    fn holds(&self, row: &Row) -> bool {
        let (series, variants) = (&self.series, &self.variants);
        (series.is_empty() || series.contains(&row.series))
            && (variants.is_empty() || variants.contains(&row.variant))
    }

    fn rows<'a>(&'a self, table: &'a Table) -> impl Iterator<Item = &'a Row> {
        table.rows.iter().filter(|row| self.holds(row))
    }

    /// The metrics that some row has.
    fn metrics(&self, table: &Table) -> Vec<Metric> {
        let wanted = if self.metrics.is_empty() { &table.shown } else { &self.metrics };
        let measured = |metric: &Metric| self.rows(table).any(|row| row.median(*metric).is_some());
        wanted.iter().copied().filter(measured).collect()
    }

    fn series<'a>(&'a self, table: &'a Table) -> Vec<&'a str> {
        chosen(&self.series, table.series())
    }

    fn variants<'a>(&'a self, table: &'a Table) -> Vec<&'a str> {
        chosen(&self.variants, table.variants())
    }
}

impl Grid {
    /// A line for each row, a column for each metric.
    pub(super) fn long(table: &Table, selection: &Selection) -> Self {
        let metrics = selection.metrics(table);
        let with_variant = selection.rows(table).any(|row| !row.variant.is_empty());
        let ratio = Ratio::of(table, &metrics, selection);
        let with_target = selection.rows(table).any(|row| !row.targets.is_empty());

        let mut heads = vec![Head::words("contender")];
        heads.extend(with_variant.then(|| Head::words("variant")));
        heads.extend(metrics.iter().map(|metric| Head::numbers(units::head(*metric))));
        heads.extend(ratio.as_ref().map(|ratio| Head::numbers(ratio.head())));
        heads.extend(with_target.then(|| Head::words("target")));

        let line = |row: &Row| {
            let mut cells = vec![row.series.clone()];
            cells.extend(with_variant.then(|| row.variant.clone()));
            cells
                .extend(metrics.iter().map(|metric| units::cell(row, *metric).unwrap_or_default()));
            cells.extend(ratio.as_ref().map(|ratio| ratio.cell(table, row)));
            cells.extend(with_target.then(|| verdicts(table, row)));
            cells
        };
        Self { heads, rows: selection.rows(table).map(line).collect() }
    }

    /// A line for each variant, a column for each series and metric.
    pub(super) fn pivot(tables: &[&Table], metrics: &[Metric], selection: &Selection) -> Self {
        let mut series: Vec<&str> = Vec::new();
        for name in tables.iter().flat_map(|table| selection.series(table)) {
            if !series.contains(&name) {
                series.push(name);
            }
        }
        let columns: Vec<_> = series
            .iter()
            .flat_map(|name| metrics.iter().map(move |metric| (*name, *metric)))
            .collect();
        let corner = match metrics {
            [metric] => units::head(*metric),
            _ => String::new(),
        };
        let mut heads = vec![Head::words(corner)];
        heads.extend(columns.iter().map(|(name, metric)| match metrics {
            [_] => Head::numbers(*name),
            _ => Head::numbers(format!("{name}: {}", units::head(*metric))),
        }));

        let mut rows = Vec::new();
        for table in tables {
            for variant in selection.variants(table) {
                let mut cells = vec![line_name(table, variant, tables.len() > 1)];
                cells.extend(columns.iter().map(|(name, metric)| {
                    let row = table.row(name, variant);
                    row.and_then(|row| units::cell(row, *metric)).unwrap_or_default()
                }));
                rows.push(cells);
            }
        }
        Self { heads, rows }
    }
}

/// The paragraphs above a table.
pub(super) fn caption(table: &Table, selection: &Selection) -> Vec<String> {
    let corpus = &table.corpus;
    let (inodes, bytes) = (units::count(corpus.inodes), units::bytes(corpus.bytes));
    let done = format!("Done to `{}` ({inodes} inodes, {bytes}): {}", corpus.name, table.about);
    let ratio = Ratio::of(table, &selection.metrics(table), selection);
    [done].into_iter().chain(ratio.map(|ratio| ratio.explanation())).collect()
}

/// What holds for all tables: lines of a name and its value.
pub(super) fn facts(results: &Results) -> Vec<(&'static str, String)> {
    let Machine { date, kernel, cpu, cores, memory, cold } = &results.machine;
    let cores = if *cores == 1 { "1 core".to_owned() } else { format!("{cores} cores") };
    let caches = if *cold { "cold: all are dropped before each reading" } else { "warm" };
    let programs: Vec<_> = results.programs.iter().map(program).collect();
    let facts = [
        ("Date", date.clone()),
        ("Machine", format!("{cores} of {cpu}, {} of memory", units::bytes(*memory))),
        ("Kernel", format!("Linux {}", kernel.strip_prefix("Linux ").unwrap_or(kernel))),
        ("Programs", programs.join("; ")),
        ("Caches", caches.to_owned()),
        ("Rounds", rounds(results.repeat)),
        ("Left out", results.left_out.join("; ")),
    ];
    facts.into_iter().filter(|(_, text)| !text.is_empty()).collect()
}

/// A program and its version, which often begins with the program's name.
fn program(program: &Program) -> String {
    let Program { name, version } = program;
    if version.contains(name.as_str()) {
        return version.trim().to_owned();
    }
    format!("{name} {version}").trim().to_owned()
}

/// The commands of a suite, each once.
pub(super) fn commands(suite: &Suite) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let rows = suite.tables.iter().flat_map(|table| &table.rows);
    let commands = rows.flat_map(|row| &row.commands).map(String::as_str);
    commands.filter(|command| seen.insert(*command)).collect()
}

fn rounds(repeat: u32) -> String {
    match repeat {
        0 | 1 => "one after a first to warm up".to_owned(),
        _ => format!(
            "{repeat} after a first to warm up; numbers are medians, with the least and the most in brackets where they differ"
        ),
    }
}

/// What rows are compared in.
struct Ratio {
    metric: Metric,
    /// The series that all rows are compared with, if it is one.
    base: Option<String>,
}

impl Ratio {
    fn of(table: &Table, metrics: &[Metric], selection: &Selection) -> Option<Self> {
        let bases: BTreeSet<&str> = selection
            .rows(table)
            .filter_map(|row| table.against(row))
            .map(|row| row.series.as_str())
            .collect();
        let first = bases.first()?;
        let first_of = |told: fn(Metric) -> bool| metrics.iter().find(|metric| told(**metric));
        let preferred = first_of(is_cost).or_else(|| first_of(is_rate)).or_else(|| metrics.first());
        let base = (bases.len() == 1).then(|| (*first).to_owned());
        Some(Self { metric: *preferred?, base })
    }

    fn head(&self) -> String {
        let base = self.base.as_deref().unwrap_or("the other's");
        format!("{} / {base}", units::name(self.metric))
    }

    fn explanation(&self) -> String {
        let base = self.base.as_ref().map_or_else(
            || "of the row that is named beside it".to_owned(),
            |base| format!("of {base}"),
        );
        format!(
            "“{}” is the row's {} in relation to that {base}, the median of the ratios within each round.",
            self.head(),
            units::name(self.metric)
        )
    }

    fn cell(&self, table: &Table, row: &Row) -> String {
        let Some(other) = table.against(row) else { return String::new() };
        let Some(ratio) = row.ratio(other, self.metric) else { return String::new() };
        match self.base {
            Some(_) => units::times(ratio),
            None if row.variant == other.variant => {
                format!("{} of {}", units::times(ratio), other.series)
            }
            None => format!("{} of {}", units::times(ratio), other.label()),
        }
    }
}

/// Whether the metric is a whole's time or space.
fn is_cost(metric: Metric) -> bool {
    matches!(metric, Metric::Size | Metric::RelativeSize | Metric::Wall)
}

fn is_rate(metric: Metric) -> bool {
    matches!(metric, Metric::Rate | Metric::CpuRate)
}

fn verdicts(table: &Table, row: &Row) -> String {
    let verdicts = row.targets.iter().map(|target| units::verdict(table, row, target));
    verdicts.collect::<Vec<_>>().join("; ")
}

fn line_name(table: &Table, variant: &str, with_title: bool) -> String {
    match (with_title, variant) {
        (false, _) => variant.to_owned(),
        (true, "") => table.title.clone(),
        (true, _) => format!("{}, {variant}", table.title),
    }
}

/// Those of a list that are there, in the list's order; all that are there if the list is empty.
fn chosen<'a>(wanted: &'a [String], present: Vec<&'a str>) -> Vec<&'a str> {
    if wanted.is_empty() {
        return present;
    }
    wanted.iter().map(String::as_str).filter(|name| present.contains(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::samples, *};

    #[test]
    fn programs_are_named_once() {
        let told = |name: &str, version: &str| {
            program(&Program { name: name.into(), version: version.into() })
        };
        assert_eq!(told("lith", "0.1.0"), "lith 0.1.0");
        assert_eq!(told("mkfs.x", "mkfs.x 1.0 "), "mkfs.x 1.0");
        assert_eq!(told("cp", ""), "cp");
    }

    #[test]
    fn rows_with_different_bases_name_them() {
        let mut table = samples::table();
        table.rows[0].against = Some(2);
        let grid = Grid::long(&table, &Selection::default());
        let column = grid.heads.iter().position(|head| head.text == "time / the other's").unwrap();
        let cells: Vec<_> = grid.rows.iter().map(|row| row[column].as_str()).collect();
        assert_eq!(cells, ["2.00x of lith", "", "0.50x of mkfs.x", "1.00x of mkfs.x"]);
        table.rows[0].against = Some(3);
        let grid = Grid::long(&table, &Selection::default());
        assert_eq!(grid.rows[0][column], "0.76x of lith, zstd|3 & more");
    }

    #[test]
    fn what_nobody_has_measured_is_no_column() {
        let grid = Grid::long(&samples::table(), &Selection::default());
        assert!(grid.heads.iter().all(|head| !head.text.contains("server")));
    }
}
