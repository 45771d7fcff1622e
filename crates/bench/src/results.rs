//! Defines stored results: all values that tables and plots show.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// All that one call has measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Results {
    /// Where it was measured, and when.
    pub(crate) machine: Machine,
    /// The command line that repeats it, without paths of this machine.
    pub(crate) command: String,
    /// How often each thing was measured, after one round to warm up.
    pub(crate) repeat: u32,
    pub(crate) programs: Vec<Program>,
    pub(crate) left_out: Vec<String>,
    pub(crate) suites: Vec<Suite>,
}

impl Results {
    /// The same without what numbers should be.
    pub(crate) fn without_targets(mut self) -> Self {
        let tables = self.suites.iter_mut().flat_map(|suite| &mut suite.tables);
        tables.flat_map(|table| &mut table.rows).for_each(|row| row.targets.clear());
        self
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// The day, `2026-01-31`.
    pub(crate) date: String,
    pub(crate) kernel: String,
    pub(crate) cpu: String,
    /// Processors that the kernel schedules on.
    pub(crate) cores: usize,
    /// Bytes of memory.
    pub(crate) memory: u64,
    /// Whether all caches were dropped before each reading, which needs root.
    pub(crate) cold: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) version: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Suite {
    /// As it is named on the command line.
    pub(crate) name: String,
    pub(crate) title: String,
    /// What it shows, and which published comparison it repeats, if any.
    pub(crate) about: String,
    pub(crate) tables: Vec<Table>,
}

/// One thing that all rows did in turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Table {
    /// A short name, the only such of its suite: `sequential-data`.
    pub(crate) name: String,
    pub(crate) title: String,
    /// What was done, as a command where it is one.
    pub(crate) about: String,
    pub(crate) corpus: Corpus,
    /// The columns to show, in order.
    pub(crate) shown: Vec<Metric>,
    /// Who did it, in order.
    pub(crate) rows: Vec<Row>,
    /// A plot of it, if one shows more than the table.
    pub(crate) plot: Option<Plot>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Corpus {
    pub(crate) name: String,
    pub(crate) inodes: u64,
    /// Bytes of all regular files, hard links counted once.
    pub(crate) bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// Who: `lith, kernel`, `SquashFS, kernel`. Rows of the same series have the same colour in a plot.
    pub(crate) series: String,
    /// With what: `lz4hc,12 4 KiB`. Rows of different series with the same variant are side by side in a plot.
    pub(crate) variant: String,
    /// The commands that made the image and that mounted or ran it, with names in capitals in place of paths.
    pub(crate) commands: Vec<String>,
    /// One for each round; the same index is the same round in all rows of a table.
    pub(crate) samples: Vec<Sample>,
    /// The row that this one is compared with: its index.
    pub(crate) against: Option<usize>,
    /// What its numbers should be.
    pub(crate) targets: Vec<Target>,
}

/// What one round gave.
pub(crate) type Sample = BTreeMap<Metric, f64>;

/// Something that is measured. Times are in seconds, sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Metric {
    /// Bytes of an image; for filesystems that are written to, bytes in use.
    Size,
    /// Bytes of the image in relation to those of the corpus.
    RelativeSize,
    /// What compression saves: the share of the corpus that the image does not need.
    Saving,
    Wall,
    /// Seconds in which exactly one thread of the program ran, in relation to its seconds of CPU: what more processors
    /// don't shorten.
    Alone,
    /// Seconds of CPU of the program that reads or builds, in user space and the kernel.
    Cpu,
    /// Seconds of CPU of the server, for filesystems in user space.
    ServerCpu,
    /// Seconds that all processors were busy: kernels decode in threads of no process.
    MachineCpu,
    /// Bytes per second that came out.
    Rate,
    /// Bytes per second of CPU that came out.
    CpuRate,
    /// The most memory of the process, in bytes; of the server for filesystems in user space.
    PeakMemory,
    /// The memory of the server after reading.
    Resident,
    /// By how much the kernel's memory grew, page cache of the files themselves left out.
    KernelMemory,
    /// Bytes that were read from the device below the image.
    Fetched,
    Requests,
    /// Bytes fetched in relation to those requested.
    Amplification,
}

/// What a number of a row should be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Target {
    pub(crate) metric: Metric,
    /// Whether the limit is for the number in relation to that of the row it is compared with, or for the number alone.
    pub(crate) relative: bool,
    pub(crate) limit: Limit,
}

/// A limit that is met on one side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Limit {
    Least(f64),
    Most(f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Plot {
    /// A group of bars for each variant, in it a bar for each series.
    Bars(Metric),
    /// A point for each row, joined by series.
    Points { x: Metric, y: Metric },
}

impl Row {
    pub(crate) fn label(&self) -> String {
        if self.variant.is_empty() {
            return self.series.clone();
        }
        format!("{}, {}", self.series, self.variant)
    }

    /// The metric's value in each round that has it.
    pub(crate) fn values(&self, metric: Metric) -> impl Iterator<Item = f64> + '_ {
        self.samples.iter().filter_map(move |sample| sample.get(&metric).copied())
    }

    /// The median of the rounds.
    pub(crate) fn median(&self, metric: Metric) -> Option<f64> {
        median(self.values(metric))
    }

    /// The least and the most of the rounds.
    pub(crate) fn range(&self, metric: Metric) -> Option<(f64, f64)> {
        let least = self.values(metric).reduce(f64::min)?;
        Some((least, self.values(metric).reduce(f64::max)?))
    }

    /// The median of the ratios of this row's values to the other's in the same rounds.
    pub(crate) fn ratio(&self, other: &Self, metric: Metric) -> Option<f64> {
        let pairs = self.samples.iter().zip(&other.samples);
        let ratios = pairs.filter_map(|(own, other)| {
            let (own, other) = (own.get(&metric)?, other.get(&metric)?);
            (*other > 0.0).then(|| own / other)
        });
        median(ratios)
    }
}

impl Table {
    /// The row of a series with a variant, the first one if there are more.
    pub(crate) fn row(&self, series: &str, variant: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.series == series && row.variant == variant)
    }

    /// All series, in the order of their first rows.
    pub(crate) fn series(&self) -> Vec<&str> {
        distinct(self.rows.iter().map(|row| row.series.as_str()))
    }

    /// All variants, in the order of their first rows.
    pub(crate) fn variants(&self) -> Vec<&str> {
        distinct(self.rows.iter().map(|row| row.variant.as_str()))
    }

    /// The row that a row is compared with.
    pub(crate) fn against(&self, row: &Row) -> Option<&Row> {
        row.against.and_then(|index| self.rows.get(index))
    }

    /// A target's number and whether it is met; nothing if it was not measured.
    pub(crate) fn verdict(&self, row: &Row, target: &Target) -> Option<(f64, bool)> {
        let value = if target.relative {
            row.ratio(self.against(row)?, target.metric)?
        } else {
            row.median(target.metric)?
        };
        Some((value, target.limit.is_met(value)))
    }
}

impl Limit {
    /// Whether a number is on the right side.
    pub(crate) fn is_met(self, value: f64) -> bool {
        match self {
            Self::Least(least) => value >= least,
            Self::Most(most) => value <= most,
        }
    }
}

/// A count as a number to calculate with.
#[expect(clippy::cast_precision_loss, reason = "what is measured has fewer digits")]
pub(crate) const fn number(count: u64) -> f64 {
    count as f64
}

/// Each text once, in the order of their first appearance.
fn distinct<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    texts.filter(|text| seen.insert(*text)).collect()
}

/// The middle value, or the mean of the two middle ones.
fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let (low, high) =
        (sorted.get(sorted.len().checked_sub(1)? / 2)?, sorted.get(sorted.len() / 2)?);
    Some(f64::midpoint(*low, *high))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(walls: &[f64]) -> Row {
        let samples = walls.iter().map(|wall| Sample::from([(Metric::Wall, *wall)])).collect();
        Row {
            series: "lith".into(),
            variant: "4 KiB".into(),
            commands: Vec::new(),
            samples,
            against: None,
            targets: Vec::new(),
        }
    }

    #[test]
    fn medians_lie_in_the_middle() {
        assert_eq!(row(&[]).median(Metric::Wall), None);
        assert_eq!(row(&[3.0]).median(Metric::Wall), Some(3.0));
        assert_eq!(row(&[9.0, 1.0, 2.0]).median(Metric::Wall), Some(2.0));
        assert_eq!(row(&[9.0, 1.0, 2.0, 4.0]).median(Metric::Wall), Some(3.0));
        assert_eq!(row(&[9.0, 1.0]).median(Metric::Size), None);
        assert_eq!(row(&[9.0, 1.0, 2.0]).range(Metric::Wall), Some((1.0, 9.0)));
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        // The machine was slow in the second round.
        let (own, other) = (row(&[1.0, 10.0, 1.1]), row(&[2.0, 20.0, 2.0]));
        assert_eq!(own.ratio(&other, Metric::Wall), Some(0.5));
        assert_eq!(own.ratio(&row(&[0.0, 0.0, 0.0]), Metric::Wall), None);
    }

    #[test]
    fn results_survive_being_kept() {
        let target = Target { metric: Metric::Wall, relative: true, limit: Limit::Most(0.9) };
        let row = Row { against: Some(0), targets: vec![target], ..row(&[1.5]) };
        let text = serde_json::to_string(&row).unwrap();
        assert!(text.contains(r#""most":0.9"#), "{text}");
        assert_eq!(serde_json::from_str::<Row>(&text).unwrap(), row);
    }
}
