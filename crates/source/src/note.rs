//! Defines [`Note`], which describes what a source left out or read as something else.

use std::collections::BTreeMap;

/// One kind of thing that was left out or read as something else, with all its occurrences.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// The kind.
    pub kind: NoteKind,
    /// The first path concerned, in ascending order of bytes, from the root.
    pub path: Box<[u8]>,
    /// The number of occurrences.
    pub count: u64,
}

/// What was left out or read as something else.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NoteKind {
    /// An extended attribute whose name the format can't store.
    Xattr(Box<[u8]>),
    /// A file that can't be read was left out. Each is a note of its own.
    Unreadable {
        /// The file.
        path: Box<[u8]>,
        /// Why, in words.
        reason: String,
    },
    /// A file that is about to be replaced, in the directory that is read.
    Output,
    /// A file or directory on another filesystem was left out, with what it holds.
    OtherFilesystem,
    /// A tar member of a type without a meaning in a tree, as a volume label.
    MemberSkipped(u8),
    /// A tar member of an unknown type was read as a regular file, as POSIX requires.
    MemberAsFile(u8),
    /// AUFS' own bookkeeping (names that start with `.wh..wh.`).
    AufsBookkeeping,
    /// A hard link to a file of another layer is a file of its own in the image of its layer.
    LinkBelow,
    /// Data after an archive's end marker were not read: perhaps another tar.
    TrailingData,
    /// An archive has no end marker.
    NoEndMarker,
}

impl Note {
    /// A note about a file that can't be read.
    #[must_use]
    pub fn unreadable(path: &[u8], reason: String) -> Self {
        let kind = NoteKind::Unreadable { path: path.into(), reason };
        Self { kind, path: path.into(), count: 1 }
    }
}

/// Collects notes. The result does not depend on their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes(BTreeMap<NoteKind, (Box<[u8]>, u64)>);

impl Notes {
    /// Adds one occurrence, at `path`.
    pub(crate) fn add(&mut self, kind: NoteKind, path: &[u8]) {
        self.add_many(kind, path.into(), 1);
    }

    /// Adds a file that can't be read.
    pub(crate) fn add_unreadable(&mut self, path: &[u8], reason: String) {
        self.add(NoteKind::Unreadable { path: path.into(), reason }, path);
    }

    /// Adds the notes of another collection.
    pub(crate) fn merge(&mut self, other: Self) {
        for (kind, (path, count)) in other.0 {
            self.add_many(kind, path, count);
        }
    }

    /// Adds `count` occurrences, the first at `path`.
    pub(crate) fn add_many(&mut self, kind: NoteKind, path: Box<[u8]>, count: u64) {
        let (first, times) = self.0.entry(kind).or_insert_with(|| (path.clone(), 0));
        *times += count;
        if path < *first {
            *first = path;
        }
    }

    /// The notes in ascending order of their kind.
    pub(crate) fn into_vec(self) -> Vec<Note> {
        let note = |(kind, (path, count))| Note { kind, path, count };
        self.0.into_iter().map(note).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_does_not_matter() {
        let kind = || NoteKind::Xattr(b"system.x"[..].into());
        let (mut one, mut two, mut three) = (Notes::default(), Notes::default(), Notes::default());
        one.add(kind(), b"b");
        one.add(kind(), b"a");
        two.add(kind(), b"a");
        three.add(kind(), b"b");
        two.merge(three);
        let expected = vec![Note { kind: kind(), path: b"a"[..].into(), count: 2 }];
        assert_eq!(one.into_vec(), expected);
        assert_eq!(two.into_vec(), expected);
    }
}
