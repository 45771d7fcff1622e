//! Defines [`Seen`], by which a changed file is recognized.

use lith_system::Status;
use lith_tree::Timestamp;

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
    pub(crate) fn new(status: &Status) -> Self {
        Self {
            ino: status.id.map_or(0, |(_device, ino)| ino),
            mtime_sec: status.mtime.0,
            ctime_sec: status.ctime.0,
            mtime_nsec: status.mtime.1,
            ctime_nsec: status.ctime.1,
        }
    }

    /// The last modification of the content.
    pub(crate) const fn mtime(&self) -> Timestamp {
        Timestamp { sec: self.mtime_sec, nsec: self.mtime_nsec }
    }

    /// Describes the first attribute of a regular file of `size` bytes that has changed; `None`: none has.
    pub(crate) fn difference(&self, size: u64, status: &Status) -> Option<String> {
        let now = Self::new(status);
        if !status.is_file {
            Some("is no longer a regular file".to_owned())
        } else if now.ino != self.ino {
            Some(format!("inode {}, was {}", now.ino, self.ino))
        } else if status.size != size {
            Some(format!("size {}, was {size}", status.size))
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

fn changed_time(which: &str, now: Timestamp, was: Timestamp) -> String {
    format!("{which} {}.{:09}, was {}.{:09}", now.sec, now.nsec, was.sec, was.nsec)
}
