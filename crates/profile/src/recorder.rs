//! Defines [`Recorder`], which notes what is used, in order.

use std::{collections::HashMap, ops::Range};

use crate::profile::{Access, Entry, Profile};

/// Notes what is used of a tree.
#[derive(Debug, Default)]
pub struct Recorder {
    /// For each access when it came first, and how often it came.
    seen: HashMap<(Vec<u8>, Access), (u64, u64)>,
    next: u64,
}

impl Recorder {
    /// The most different accesses that are noted; later ones are no start-up any more.
    pub(crate) const MOST: usize = 1 << 20;

    /// Nothing was used yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes that a range of a file was read. The path has no leading slash.
    pub fn read(&mut self, path: &[u8], range: Range<u64>) {
        if let Some(access) = Access::read(range) {
            self.note(path, access);
        }
    }

    /// Notes that an inode was looked up.
    pub fn lookup(&mut self, path: &[u8]) {
        self.note(path, Access::Lookup);
    }

    /// Notes that an inode was looked up, unless that is known.
    pub(crate) fn lookup_if_new(&mut self, path: &[u8]) {
        if !self.has_lookup(path) {
            self.lookup(path);
        }
    }

    /// Notes that a directory was listed.
    pub fn list(&mut self, path: &[u8]) {
        self.note(path, Access::List);
    }

    /// The present, as [`Self::read_at`] takes it later: after all that was noted, and before all that will be.
    pub(crate) fn now(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Notes that a range of a file was read at an earlier time.
    pub(crate) fn read_at(&mut self, time: u64, path: &[u8], range: Range<u64>) {
        if let Some(access) = Access::read(range) {
            self.note_at(time, path, access);
        }
    }

    /// Whether an inode was looked up.
    pub(crate) fn has_lookup(&self, path: &[u8]) -> bool {
        self.seen.contains_key(&(path.to_vec(), Access::Lookup))
    }

    fn note(&mut self, path: &[u8], access: Access) {
        if self.note_at(self.next + 1, path, access) {
            self.next += 1;
        }
    }

    /// Returns whether it is new.
    fn note_at(&mut self, time: u64, path: &[u8], access: Access) -> bool {
        let key = (path.to_vec(), access);
        if let Some((_, count)) = self.seen.get_mut(&key) {
            *count += 1;
            return false;
        }
        let has_room = self.seen.len() < Self::MOST;
        if has_room {
            self.seen.insert(key, (time, 1));
        }
        has_room
    }

    /// What was used up to now.
    #[must_use]
    pub fn profile(&self) -> Profile {
        let entry = |((path, access), (order, count)): (&(Vec<u8>, Access), &(u64, u64))| {
            let (path, access) = (path.clone(), access.clone());
            Entry { path, access, order: *order, count: *count }
        };
        Profile::new(self.seen.iter().map(entry)).numbered()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_uses_are_in_order_and_later_ones_counted() {
        let mut recorder = Recorder::new();
        recorder.lookup(b"b");
        recorder.read(b"b", 0..10);
        recorder.list(b"");
        recorder.read(b"b", 0..10);
        recorder.read(b"b", 5..5);
        let text = recorder.profile().to_string();
        let lines: Vec<_> = text.lines().skip(2).collect();
        assert_eq!(lines, ["lookup /b - 1 1", "read /b 0+10 2 2", "list / - 3 1"]);
    }
}
