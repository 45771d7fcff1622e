//! Formats metrics with names and units.

use crate::results::{Limit, Metric, Row, Table, Target};

/// How the numbers of a metric are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Seconds,
    Bytes,
    Megabytes,
    MegabytesPerSecond,
    Percent,
    Count,
    Times,
}

/// The short name of a metric, and its unit.
fn described(metric: Metric) -> (&'static str, Unit) {
    match metric {
        Metric::Size => ("size", Unit::Bytes),
        Metric::RelativeSize => ("size / corpus", Unit::Percent),
        Metric::Saving => ("saved", Unit::Percent),
        Metric::Wall => ("time", Unit::Seconds),
        Metric::Alone => ("one thread / CPU", Unit::Percent),
        Metric::Cpu => ("CPU", Unit::Seconds),
        Metric::ServerCpu => ("CPU of the server", Unit::Seconds),
        Metric::MachineCpu => ("CPU of the machine", Unit::Seconds),
        Metric::Rate => ("rate", Unit::MegabytesPerSecond),
        Metric::CpuRate => ("rate of a CPU", Unit::MegabytesPerSecond),
        Metric::PeakMemory => ("peak memory", Unit::Megabytes),
        Metric::Resident => ("memory after", Unit::Megabytes),
        Metric::KernelMemory => ("memory of the kernel", Unit::Megabytes),
        Metric::Fetched => ("fetched", Unit::Megabytes),
        Metric::Requests => ("requests", Unit::Count),
        Metric::Amplification => ("fetched / requested", Unit::Times),
    }
}

pub(super) fn name(metric: Metric) -> &'static str {
    described(metric).0
}

impl Unit {
    fn of(metric: Metric) -> Self {
        described(metric).1
    }

    /// What one of the unit is in the units of the results.
    fn scale(self) -> f64 {
        match self {
            Self::Megabytes | Self::MegabytesPerSecond => 1e6,
            Self::Percent => 0.01,
            Self::Seconds | Self::Bytes | Self::Count | Self::Times => 1.0,
        }
    }

    fn symbol(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Bytes => "bytes",
            Self::Megabytes => "MB",
            Self::MegabytesPerSecond => "MB/s",
            Self::Percent => "%",
            Self::Count => "",
            Self::Times => "x",
        }
    }

    /// The number of decimals at which a number has three significant digits.
    fn decimals(self, number: f64) -> usize {
        let number = number.abs();
        match self {
            Self::Bytes | Self::Count => 0,
            Self::Percent => 1,
            _ if number >= 100.0 || number == 0.0 => 0,
            _ if number >= 10.0 => 1,
            _ if number >= 1.0 => 2,
            Self::Seconds if number < 0.01 => 5,
            _ => 3,
        }
    }
}

/// A metric and its unit, as the head of a column.
pub(super) fn head(metric: Metric) -> String {
    titled(name(metric), Unit::of(metric).symbol())
}

/// The median, and in brackets the least and the most where rounds differ.
pub(super) fn cell(row: &Row, metric: Metric) -> Option<String> {
    let unit = Unit::of(metric);
    let median = row.median(metric)? / unit.scale();
    let (least, most) = row.range(metric)?;
    let decimals = unit.decimals(median);
    let [least, most] = [least, most].map(|value| grouped(value / unit.scale(), decimals));
    let median = grouped(median, decimals);
    if least == most {
        return Some(median);
    }
    Some(format!("{median} ({least}–{most})"))
}

pub(super) fn times(ratio: f64) -> String {
    format!("{ratio:.2}x")
}

/// Whether a row has met a target, with its number and the limit.
pub(super) fn verdict(table: &Table, row: &Row, target: &Target) -> String {
    let (sign, limit) = match target.limit {
        Limit::Least(limit) => ('≥', limit),
        Limit::Most(limit) => ('≤', limit),
    };
    let told =
        |number| if target.relative { times(number) } else { with_unit(target.metric, number) };
    let name = name(target.metric);
    match table.verdict(row, target) {
        None => format!("not measured: {name} ({sign} {})", told(limit)),
        Some((number, met)) => {
            let word = if met { "PASS" } else { "MISS" };
            format!("{word} {name} {} ({sign} {})", told(number), told(limit))
        }
    }
}

fn with_unit(metric: Metric, value: f64) -> String {
    let unit = Unit::of(metric);
    let number = value / unit.scale();
    format!("{} {}", grouped(number, unit.decimals(number)), unit.symbol()).trim_end().to_owned()
}

/// Bytes in a unit that suits them.
pub(super) fn bytes(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are told")]
    let bytes = bytes as f64;
    let scale = Scale::of_bytes(bytes);
    let number = bytes / scale.divisor;
    format!("{} {}", grouped(number, Unit::Times.decimals(number)), scale.unit)
}

/// A count with its thousands set apart.
pub(super) fn count(count: u64) -> String {
    separated(&count.to_string())
}

/// The unit of an axis.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    /// What one of the unit is in the units of the results.
    pub(super) divisor: f64,
    unit: &'static str,
}

impl Scale {
    /// That in which the largest of a metric's numbers is short.
    pub(super) fn of(metric: Metric, largest: f64) -> Self {
        let unit = Unit::of(metric);
        match unit {
            Unit::Seconds if largest < 1e-3 => Self { divisor: 1e-6, unit: "µs" },
            Unit::Seconds if largest < 1.0 => Self { divisor: 1e-3, unit: "ms" },
            Unit::Bytes | Unit::Megabytes => Self::of_bytes(largest),
            _ => Self { divisor: unit.scale(), unit: unit.symbol() },
        }
    }

    fn of_bytes(largest: f64) -> Self {
        match largest {
            1e9.. => Self { divisor: 1e9, unit: "GB" },
            1e6.. => Self { divisor: 1e6, unit: "MB" },
            1e4.. => Self { divisor: 1e3, unit: "kB" },
            _ => Self { divisor: 1.0, unit: "bytes" },
        }
    }

    /// The metric and the unit, as the name of an axis.
    pub(super) fn axis(self, metric: Metric) -> String {
        titled(name(metric), self.unit)
    }

    /// The number at a bar.
    pub(super) fn label(self, value: f64) -> String {
        let number = value / self.divisor;
        let decimals = match number.abs() {
            100.0.. => 0,
            10.0.. => 1,
            1.0.. => 2,
            _ => 3,
        };
        grouped(number, decimals)
    }
}

/// A number of an axis, already in the axis's unit, without trailing zeros.
pub(super) fn tick(number: f64) -> String {
    let text = grouped(number, 4);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn titled(name: &str, unit: &str) -> String {
    if unit.is_empty() { name.to_owned() } else { format!("{name}, {unit}") }
}

/// A number with that many decimals and with thousands set apart.
fn grouped(number: f64, decimals: usize) -> String {
    let text = format!("{number:.decimals$}");
    match text.split_once('.') {
        Some((whole, fraction)) => format!("{}.{fraction}", separated(whole)),
        None => separated(&text),
    }
}

/// Commas between groups of three digits.
fn separated(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let mut text = sign.to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_thousands() {
        assert_eq!(with_unit(Metric::Wall, 0.4916), "0.492 s");
        assert_eq!(with_unit(Metric::Wall, 0.001_234), "0.00123 s");
        assert_eq!(with_unit(Metric::Wall, 1234.5), "1,234 s");
        assert_eq!(with_unit(Metric::Size, 72_237_056.0), "72,237,056 bytes");
        assert_eq!(with_unit(Metric::PeakMemory, 33_449_984.0), "33.4 MB");
        assert_eq!(with_unit(Metric::Rate, 2_032_000_000.0), "2,032 MB/s");
        assert_eq!(with_unit(Metric::Saving, 0.4321), "43.2 %");
        assert_eq!(with_unit(Metric::Saving, -0.0123), "-1.2 %");
        assert_eq!(with_unit(Metric::Requests, 1_000.0), "1,000");
        assert_eq!(with_unit(Metric::Amplification, 1.5), "1.50 x");
        assert_eq!(bytes(8_345_000_000), "8.35 GB");
        assert_eq!(bytes(123), "123 bytes");
    }

    #[test]
    fn ticks_say_no_more_than_they_must() {
        assert_eq!(tick(0.0), "0");
        assert_eq!(tick(0.25), "0.25");
        assert_eq!(tick(1500.0), "1,500");
    }

    #[test]
    fn scales_suit_the_largest_number() {
        assert_eq!(Scale::of(Metric::Wall, 0.2).axis(Metric::Wall), "time, ms");
        assert_eq!(Scale::of(Metric::Wall, 12.0).label(3.456), "3.46");
        assert_eq!(Scale::of(Metric::Size, 7e7).axis(Metric::Size), "size, MB");
        assert_eq!(Scale::of(Metric::Requests, 9.0).axis(Metric::Requests), "requests");
    }
}
