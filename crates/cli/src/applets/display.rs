//! Formats ratios and times as erofs-utils do.

use std::fmt;

use jiff::{Timestamp, tz::TimeZone};

/// The first number in percent of the second, with two decimal places; what C prints for a division by zero if the
/// second is 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Percent(pub(super) u64, pub(super) u64);

impl Percent {
    /// The percentage as a number; 0 if the second number is 0.
    #[expect(clippy::cast_precision_loss, reason = "only two decimal places are printed")]
    pub(super) fn value(self) -> f64 {
        if self.1 == 0 { 0.0 } else { self.0.saturating_mul(100) as f64 / self.1 as f64 }
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self(0, 0) => f.write_str("-nan"),
            Self(_, 0) => f.write_str("inf"),
            _ => write!(f, "{:.2}", self.value()),
        }
    }
}

/// Seconds since 1970 in the local time zone, formatted as `strftime(3)` does; a number if the calendar has no such date.
pub(super) fn local_time(seconds: i64, format: &str) -> String {
    match Timestamp::from_second(seconds) {
        Ok(time) => time.to_zoned(TimeZone::system()).strftime(format).to_string(),
        Err(_) => seconds.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_printed_as_c_prints_them() {
        let ratios = [(1, 3), (89222, 212_565), (2, 1), (0, 0), (1, 0), (0, 5)];
        let shown = ratios.map(|(part, whole)| Percent(part, whole).to_string());
        assert_eq!(shown, ["33.33", "41.97", "200.00", "-nan", "inf", "0.00"]);
    }

    #[test]
    fn times_outside_the_calendar_are_numbers() {
        assert_eq!(local_time(i64::MAX, "%Y"), i64::MAX.to_string());
        assert_eq!(local_time(86_400 * 20, "%Y"), "1970");
    }
}
