//! Formats modes and times.

use std::fmt;

use jiff::{
    Timestamp,
    tz::{Offset, TimeZone},
};
use lith::format::file_type::FileType;

/// A mode in the form of `ls -l`: `drwxr-sr-t`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ModeString(pub(crate) FileType, pub(crate) u16);

impl fmt::Display for ModeString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", letter(self.0))?;
        for (shift, special, marks) in [(6, 0o4000, "sS"), (3, 0o2000, "sS"), (0, 0o1000, "tT")] {
            let bits = self.1 >> shift;
            let mark = |bit, letter| if bits & bit != 0 { letter } else { '-' };
            let (set, alone) = marks.split_at(1);
            let execute = match (bits & 1 != 0, self.1 & special != 0) {
                (true, true) => set,
                (false, true) => alone,
                (true, false) => "x",
                (false, false) => "-",
            };
            write!(f, "{}{}{execute}", mark(4, 'r'), mark(2, 'w'))?;
        }
        Ok(())
    }
}

/// The first letter of a line of `ls -l`.
const fn letter(file_type: FileType) -> char {
    match file_type {
        FileType::Regular => '-',
        FileType::Directory => 'd',
        FileType::Symlink => 'l',
        FileType::CharDevice => 'c',
        FileType::BlockDevice => 'b',
        FileType::Fifo => 'p',
        FileType::Socket => 's',
    }
}

/// In which time zone times are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Zone {
    Utc,
    /// That of the system or of the variable TZ.
    Local,
}

impl Zone {
    /// The local one, or else UTC.
    pub(crate) const fn local_if(is_local: bool) -> Self {
        if is_local { Self::Local } else { Self::Utc }
    }

    fn offset(self, at: Timestamp) -> Offset {
        match self {
            Self::Utc => Offset::UTC,
            Self::Local => TimeZone::system().to_offset(at),
        }
    }
}

/// A time, from seconds since 1970 and nanoseconds: `2024-01-31 12:00:00`, with nanoseconds and zone as `{:#}`. Outside the
/// calendar it is `@` and the seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Time(pub(crate) i64, pub(crate) u32, pub(crate) Zone);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(sec, nsec, zone) = *self;
        let Ok(time) = Timestamp::from_second(sec) else {
            return write!(f, "@{sec}.{nsec:09}");
        };
        let offset = zone.offset(time);
        let civil = offset.to_datetime(time);
        let (date, time) = (civil.date(), civil.time());
        write!(f, "{date} {:02}:{:02}:{:02}", time.hour(), time.minute(), time.second())?;
        if f.alternate() {
            let minutes = offset.seconds() / 60;
            let sign = if minutes < 0 { '-' } else { '+' };
            let (hours, minutes) = (minutes.abs() / 60, minutes.abs() % 60);
            return write!(f, ".{nsec:09} {sign}{hours:02}{minutes:02}");
        }
        Ok(())
    }
}

/// A number of bytes as `ls -h` shows it: `17`, `4.0K`, `340M`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HumanSize(pub(crate) u64);

impl fmt::Display for HumanSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut tenths, mut units) =
            (u128::from(self.0) * 10, ["", "K", "M", "G", "T", "P", "E"].iter());
        let mut unit = units.next().unwrap_or(&"");
        // Rounded up, as ls(1) does.
        while tenths > 10 * 1023 {
            let Some(next) = units.next() else { break };
            (tenths, unit) = (tenths.div_ceil(1024), next);
        }
        if unit.is_empty() || tenths > 99 {
            return write!(f, "{}{unit}", tenths.div_ceil(10));
        }
        write!(f, "{}.{}{unit}", tenths / 10, tenths % 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_have_the_form_of_ls() {
        for (file_type, mode, shown) in [
            (FileType::Regular, 0o644, "-rw-r--r--"),
            (FileType::Directory, 0o1777, "drwxrwxrwt"),
            (FileType::Regular, 0o4755, "-rwsr-xr-x"),
            (FileType::Regular, 0o6644, "-rwSr-Sr--"),
            (FileType::Directory, 0o3770, "drwxrws--T"),
            (FileType::Symlink, 0o777, "lrwxrwxrwx"),
            (FileType::CharDevice, 0, "c---------"),
        ] {
            assert_eq!(ModeString(file_type, mode).to_string(), shown);
        }
    }

    #[test]
    fn times_are_utc_and_never_fail() {
        let utc = |sec, nsec| Time(sec, nsec, Zone::Utc);
        assert_eq!(utc(0, 7).to_string(), "1970-01-01 00:00:00");
        assert_eq!(format!("{:#}", utc(0, 7)), "1970-01-01 00:00:00.000000007 +0000");
        assert_eq!(format!("{:#}", utc(-1, 5)), "1969-12-31 23:59:59.000000005 +0000");
        assert_eq!(utc(i64::MAX, 7).to_string(), "@9223372036854775807.000000007");
        assert_eq!(utc(1 << 32, 4_000_000_000).to_string(), "2106-02-07 06:28:16");
    }

    #[test]
    fn sizes_have_the_form_of_ls() {
        for (bytes, shown) in [
            (0, "0"),
            (1023, "1023"),
            (1024, "1.0K"),
            (1025, "1.1K"),
            (10 << 10, "10K"),
            (300_000, "293K"),
            (1023 << 10, "1023K"),
            ((1 << 20) - 1, "1.0M"),
            (u64::MAX, "16E"),
        ] {
            assert_eq!(HumanSize(bytes).to_string(), shown, "{bytes}");
        }
    }
}
