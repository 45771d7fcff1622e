//! Formats modes and times.

use std::fmt;

use jiff::Timestamp;
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

/// A time in UTC, from seconds since 1970 and nanoseconds: `2024-01-31 12:00:00`, with nanoseconds and zone as `{:#}`. Outside
/// the calendar it is `@` and the seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Time(pub(crate) i64, pub(crate) u32);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(sec, nsec) = *self;
        let Ok(time) = Timestamp::from_second(sec) else {
            return write!(f, "@{sec}.{nsec:09}");
        };
        let civil = jiff::tz::Offset::UTC.to_datetime(time);
        let (date, time) = (civil.date(), civil.time());
        write!(f, "{date} {:02}:{:02}:{:02}", time.hour(), time.minute(), time.second())?;
        if f.alternate() {
            return write!(f, ".{nsec:09} +0000");
        }
        Ok(())
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
        assert_eq!(Time(0, 7).to_string(), "1970-01-01 00:00:00");
        assert_eq!(format!("{:#}", Time(0, 7)), "1970-01-01 00:00:00.000000007 +0000");
        assert_eq!(format!("{:#}", Time(-1, 5)), "1969-12-31 23:59:59.000000005 +0000");
        assert_eq!(Time(i64::MAX, 7).to_string(), "@9223372036854775807.000000007");
        assert_eq!(Time(1 << 32, 4_000_000_000).to_string(), "2106-02-07 06:28:16");
    }
}
