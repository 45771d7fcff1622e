//! How do erofs-utils show shares and moments?

use std::fmt;

use jiff::{Timestamp, tz::TimeZone};

/// How much of a number another one is, in percent with two digits. Of nothing it is what C prints for 0/0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Percent(pub(super) u64, pub(super) u64);

impl Percent {
    /// The same as a number; 0 of nothing.
    #[expect(clippy::cast_precision_loss, reason = "two digits behind the point are shown")]
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

/// A moment in the local time zone, in the form of `strftime(3)`; beyond the calendar it is seconds since 1970.
pub(super) fn local_time(seconds: i64, form: &str) -> String {
    match Timestamp::from_second(seconds) {
        Ok(moment) => moment.to_zoned(TimeZone::system()).strftime(form).to_string(),
        Err(_) => seconds.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_c() {
        let shares = [(1, 3), (89222, 212_565), (2, 1), (0, 0), (1, 0), (0, 5)];
        let shown = shares.map(|(part, whole)| Percent(part, whole).to_string());
        assert_eq!(shown, ["33.33", "41.97", "200.00", "-nan", "inf", "0.00"]);
    }

    #[test]
    fn moments_beyond_the_calendar_are_numbers() {
        assert_eq!(local_time(i64::MAX, "%Y"), i64::MAX.to_string());
        assert_eq!(local_time(86_400 * 20, "%Y"), "1970");
    }
}
