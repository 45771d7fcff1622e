//! Formats sizes, shares and counts for people.

use std::fmt;

/// A number of bytes with a unit: `17 bytes`, `1.2 KiB`, `340 MiB`.
#[derive(Clone, Copy, Debug)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        if self.0 < 1024 {
            return write!(f, "{} bytes", self.0);
        }
        let mut tenths = u128::from(self.0) * 10;
        let mut units = UNITS.iter();
        let mut unit = "";
        // A number that rounds to 1024.0 is shown as 1.0 of the next unit.
        while tenths >= 10 * 1024 - 5 {
            let Some(next) = units.next() else { break };
            (tenths, unit) = ((tenths + 512) / 1024, next);
        }
        if tenths >= 1000 {
            return write!(f, "{} {unit}", (tenths + 5) / 10);
        }
        write!(f, "{}.{} {unit}", tenths / 10, tenths % 10)
    }
}

/// The share of one number in another: `38.2 %`, or `-` if the other is 0.
#[derive(Clone, Copy, Debug)]
pub struct Share(pub u64, pub u64);

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (part, whole) = (u128::from(self.0), u128::from(self.1));
        let Some(per_mille) = (part * 1000 + whole / 2).checked_div(whole) else {
            return f.write_str("-");
        };
        write!(f, "{}.{} %", per_mille / 10, per_mille % 10)
    }
}

/// `part` divided by `whole`; `None` if `whole` is 0.
#[expect(clippy::cast_precision_loss, reason = "a share needs no more digits than a float has")]
#[must_use]
pub fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole != 0).then(|| part as f64 / whole as f64)
}

/// A count with its noun: `1 file`, `2 files`.
#[derive(Clone, Copy, Debug)]
pub struct Count(pub u64, pub &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.0 == 1 { "" } else { "s" };
        write!(f, "{} {}{plural}", self.0, self.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_three_digits_or_so() {
        for (bytes, shown) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (100 << 10, "100 KiB"),
            ((1 << 20) - 1, "1.0 MiB"),
            (123_456_789, "118 MiB"),
            (5 << 30, "5.0 GiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), shown, "{bytes}");
        }
    }

    #[test]
    fn shares_are_rounded() {
        assert_eq!(Share(1, 3).to_string(), "33.3 %");
        assert_eq!(Share(2, 3).to_string(), "66.7 %");
        assert_eq!(Share(3, 2).to_string(), "150.0 %");
        assert_eq!(Share(3, 0).to_string(), "-");
        assert_eq!(ratio(1, 2), Some(0.5));
        assert_eq!(ratio(1, 0), None);
    }

    #[test]
    fn one_has_no_plural() {
        let counts = [0, 1, 2].map(|count| Count(count, "file").to_string());
        assert_eq!(counts, ["0 files", "1 file", "2 files"]);
    }
}
