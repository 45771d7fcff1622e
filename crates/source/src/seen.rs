//! Defines [`Seen`], by which a changed file is recognized.

use lith_tree::Timestamp;
use rustix::fs::{FileType, Stat};

/// The attributes that differ between two states of a file, besides its size.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Seen {
    ino: u64,
    mtime_sec: i64,
    ctime_sec: i64,
    mtime_nsec: u32,
    ctime_nsec: u32,
}

impl Seen {
    /// Takes the attributes from the result of `stat`.
    #[expect(
        clippy::useless_conversion,
        reason = "the fields of stat have other types on other machines"
    )]
    pub(crate) fn new(stat: &Stat) -> Self {
        Self {
            ino: stat.st_ino.into(),
            mtime_sec: stat.st_mtime.into(),
            ctime_sec: stat.st_ctime.into(),
            mtime_nsec: nanoseconds(stat.st_mtime_nsec.into()),
            ctime_nsec: nanoseconds(stat.st_ctime_nsec.into()),
        }
    }

    /// The last modification of the content.
    pub(crate) const fn mtime(&self) -> Timestamp {
        Timestamp { sec: self.mtime_sec, nsec: self.mtime_nsec }
    }

    /// Describes the first attribute of a regular file of `size` bytes that has changed; `None`: none has.
    pub(crate) fn difference(&self, size: u64, stat: &Stat) -> Option<String> {
        let now = Self::new(stat);
        let size_now = size_of(stat);
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            Some("is no longer a regular file".to_owned())
        } else if now.ino != self.ino {
            Some(format!("inode {}, was {}", now.ino, self.ino))
        } else if size_now != size {
            Some(format!("size {size_now}, was {size}"))
        } else if now.mtime() != self.mtime() {
            Some(changed_time("mtime", now.mtime(), self.mtime()))
        } else if now != *self {
            Some(changed_time("ctime", now.ctime(), self.ctime()))
        } else {
            None
        }
    }

    const fn ctime(&self) -> Timestamp {
        Timestamp { sec: self.ctime_sec, nsec: self.ctime_nsec }
    }
}

/// A file's size in bytes.
pub(crate) fn size_of(stat: &Stat) -> u64 {
    // A filesystem in user space may report a negative size.
    u64::try_from(stat.st_size).unwrap_or(0)
}

/// Whether blocks are allocated for the whole file, so that it has no hole. Blocks after its end can hide a hole, which is then
/// read as zeros.
pub(crate) fn is_dense(stat: &Stat) -> bool {
    u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512) >= size_of(stat)
}

fn nanoseconds(nsec: i128) -> u32 {
    // A filesystem in user space may report any number.
    u32::try_from(nsec).unwrap_or(0)
}

fn changed_time(which: &str, now: Timestamp, was: Timestamp) -> String {
    format!("{which} {}.{:09}, was {}.{:09}", now.sec, now.nsec, was.sec, was.nsec)
}
