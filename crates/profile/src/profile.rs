//! Defines [`Profile`]: what was used of a tree, in the order of its first use.

use std::{collections::BTreeMap, ops::Range};

use crate::spans::{Span, disjoint};

/// What was done with a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Its inode was looked up.
    Lookup,
    /// The directory was listed.
    List,
    /// So many bytes of the file were read, from `start` on; at least one.
    Read {
        /// Where the range starts in the file, in bytes.
        start: u64,
        /// The byte after it.
        end: u64,
    },
}

impl Access {
    /// Reading a range; `None` if it is empty.
    #[must_use]
    pub fn read(range: Range<u64>) -> Option<Self> {
        let Range { start, end } = range;
        (start < end).then_some(Self::Read { start, end })
    }
}

/// One line of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The path from the root, without a leading slash; empty for the root.
    pub path: Vec<u8>,
    /// What was done with it.
    pub access: Access,
    /// How early: smaller is earlier, 1 is first.
    pub order: u64,
    /// How often.
    pub count: u64,
}

/// What was used of a tree: entries by their order, ranges of each file without overlaps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    entries: Vec<Entry>,
}

impl Profile {
    /// The profile of some entries, of which several may be about the same bytes: these were used as early as the first of
    /// them says, and as often as all together.
    #[must_use]
    pub fn new(entries: impl IntoIterator<Item = Entry>) -> Self {
        let mut names: BTreeMap<(Vec<u8>, Access), (u64, u64)> = BTreeMap::new();
        let mut reads: BTreeMap<Vec<u8>, Vec<Span>> = BTreeMap::new();
        for Entry { path, access, order, count } in entries {
            if let Access::Read { start, end } = access {
                reads.entry(path).or_default().push(Span { range: start..end, order, count });
            } else {
                let known = names.entry((path, access)).or_insert((order, 0));
                *known = (known.0.min(order), known.1.saturating_add(count));
            }
        }
        let of_name = |((path, access), (order, count))| Entry { path, access, order, count };
        let mut entries: Vec<_> = names.into_iter().map(of_name).collect();
        for (path, spans) in reads {
            entries.extend(disjoint(spans).into_iter().map(|Span { range, order, count }| {
                let access = Access::Read { start: range.start, end: range.end };
                Entry { path: path.clone(), access, order, count }
            }));
        }
        entries.sort_by(|a, b| {
            a.order
                .cmp(&b.order)
                .then_with(|| a.path.cmp(&b.path))
                .then_with(|| a.access.cmp(&b.access))
        });
        Self { entries }
    }

    /// The same with orders from 1 on, one apart.
    #[must_use]
    pub fn numbered(mut self) -> Self {
        for (entry, order) in self.entries.iter_mut().zip(1..) {
            entry.order = order;
        }
        self
    }

    /// Its entries, in their order.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, access: Access, order: u64) -> Entry {
        Entry { path: path.into(), access, order, count: 1 }
    }

    #[test]
    fn what_is_said_twice_is_joined_and_sorted() {
        let read = |start, end| Access::Read { start, end };
        let profile = Profile::new([
            entry("b", read(100, 200), 9),
            entry("a", Access::Lookup, 5),
            entry("b", read(0, 150), 7),
            entry("a", Access::Lookup, 2),
        ]);
        let found: Vec<_> = profile
            .entries()
            .iter()
            .map(|e| (e.path.as_slice(), &e.access, e.order, e.count))
            .collect();
        let (a, b) = (&b"a"[..], &b"b"[..]);
        assert_eq!(
            found,
            [
                (a, &Access::Lookup, 2, 2),
                (b, &read(0, 100), 7, 1),
                (b, &read(100, 150), 7, 2),
                (b, &read(150, 200), 9, 1)
            ]
        );
        assert_eq!(Access::read(5..5), None);
    }
}
