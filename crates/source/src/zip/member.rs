//! Finds out what a member of a zip archive is, by what its entry of the directory says.

use lith_tree::{Metadata, Timestamp};
use zip::{DateTime, ExtraField, System};

/// Seconds from 1601, from which NTFS counts, to 1970.
const NTFS_EPOCH: i64 = 11_644_473_600;
/// Units of NTFS' times per second.
const NTFS_UNITS: u64 = 10_000_000;

/// The bits of a mode with the type of a file, and their values.
const TYPE: u32 = 0o170_000;
pub(super) const DIRECTORY: u32 = 0o040_000;
pub(super) const REGULAR: u32 = 0o100_000;
pub(super) const SYMLINK: u32 = 0o120_000;
pub(super) const FIFO: u32 = 0o010_000;
pub(super) const SOCKET: u32 = 0o140_000;

/// What is known of a member.
pub(super) struct Known<'a> {
    /// Its name, in UTF-8 or of any bytes.
    pub(super) name: &'a [u8],
    /// On which system its attributes are meaningful.
    pub(super) system: System,
    /// Those attributes.
    pub(super) attributes: u32,
}

impl Known<'_> {
    /// The path, with slashes: some programs on Windows have written backslashes.
    pub(super) fn path(&self) -> Vec<u8> {
        let mut path = self.name.to_vec();
        if self.system == System::Dos && !path.contains(&b'/') {
            path.iter_mut().filter(|byte| **byte == b'\\').for_each(|byte| *byte = b'/');
        }
        path
    }

    /// The type and the permissions. What isn't from Unix has usual ones.
    pub(super) fn mode(&self) -> u32 {
        let has_mode = matches!(self.system, System::Unix | System::Macintosh);
        let mode = if has_mode { self.attributes >> 16 } else { 0 };
        let is_directory = self.path().ends_with(b"/");
        let file_type = match mode & TYPE {
            _ if is_directory => DIRECTORY,
            0 => REGULAR,
            file_type => file_type,
        };
        let usual = if file_type == DIRECTORY { 0o755 } else { 0o644 };
        let permissions = if mode == 0 { usual } else { mode & 0o7777 };
        file_type | permissions
    }
}

/// The attributes of a member. Its owner is root, as zip archives have none that is meant to be restored.
pub(super) fn metadata<'a>(
    mode: u32,
    date: Option<DateTime>,
    fields: impl Iterator<Item = &'a ExtraField>,
) -> Metadata {
    let exact = fields.filter_map(time_in).max_by_key(|(rank, _)| *rank).map(|(_, time)| time);
    let mtime = exact.or_else(|| date.map(|date| Timestamp { sec: seconds(date), nsec: 0 }));
    Metadata {
        permissions: u16::try_from(mode & 0o7777).expect("twelve bits"),
        mtime: mtime.unwrap_or_default(),
        ..Metadata::default()
    }
}

/// The time of the last change that a field has, and how good it is.
fn time_in(field: &ExtraField) -> Option<(u8, Timestamp)> {
    match field {
        ExtraField::ExtendedTimestamp(times) => {
            let sec = times.mod_time()?.cast_signed().into();
            Some((0, Timestamp { sec, nsec: 0 }))
        }
        ExtraField::Ntfs(times) => {
            let sec = i64::try_from(times.mtime() / NTFS_UNITS).ok()? - NTFS_EPOCH;
            let nsec = u32::try_from(times.mtime() % NTFS_UNITS * 100).ok()?;
            Some((1, Timestamp { sec, nsec }))
        }
        _ => None,
    }
}

/// Seconds since 1970 of a date, which has no time zone: it is taken for UTC, so that the result is the same everywhere.
fn seconds(date: DateTime) -> i64 {
    let (year, month) = (i64::from(date.year()), i64::from(date.month()));
    // Years begin in March, so that the day which some have is the last one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400;
    let days = days + (153 * month + 2) / 5 + i64::from(date.day()) - 1 - 719_468;
    let minutes = (days * 24 + i64::from(date.hour())) * 60 + i64::from(date.minute());
    minutes * 60 + i64::from(date.second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_in_utc() {
        let date = |year, month, day| {
            seconds(DateTime::from_date_and_time(year, month, day, 12, 34, 56).unwrap())
        };
        assert_eq!(date(1980, 1, 1), 315_578_096);
        assert_eq!(date(2000, 2, 29), 951_827_696);
        assert_eq!(date(2026, 11, 23), 1_795_437_296);
        assert_eq!(date(2100, 3, 1), 4_107_587_696);
    }

    #[test]
    fn modes_are_those_of_unix_or_usual_ones() {
        let mode = |name: &str, system, attributes| {
            Known { name: name.as_bytes(), system, attributes }.mode()
        };
        assert_eq!(mode("a", System::Unix, 0o100_751 << 16), 0o100_751);
        assert_eq!(mode("a", System::Unix, 0o4751 << 16), 0o104_751);
        assert_eq!(mode("a", System::Unix, 0), 0o100_644);
        assert_eq!(mode("a/", System::Unix, 0), 0o040_755);
        assert_eq!(mode("a/", System::Unix, 0o100_700 << 16), 0o040_700);
        assert_eq!(mode("a", System::Unix, 0o120_777 << 16), 0o120_777);
        assert_eq!(mode("a", System::Dos, u32::MAX), 0o100_644);
        assert_eq!(mode("a\\", System::Dos, 0), 0o040_755);
    }

    #[test]
    fn backslashes_of_windows_are_slashes() {
        let path = |name: &str, system| {
            let known = Known { name: name.as_bytes(), system, attributes: 0 };
            String::from_utf8(known.path()).unwrap()
        };
        assert_eq!(path("a\\b", System::Dos), "a/b");
        assert_eq!(path("a/b\\c", System::Dos), "a/b\\c");
        assert_eq!(path("a\\b", System::Unix), "a\\b");
    }
}
