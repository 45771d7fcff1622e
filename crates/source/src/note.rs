//! What of the original was not taken as it is?

use std::collections::BTreeMap;

/// One kind of thing that was left out or taken for something else, however often that happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// What it was.
    pub kind: NoteKind,
    /// The first path, in ascending order of bytes, that it happened to; from the root.
    pub path: Box<[u8]>,
    /// How often it happened.
    pub count: u64,
}

/// What was left out or taken for something else.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NoteKind {
    /// An extended attribute of this name has no place in the format.
    Xattr(Box<[u8]>),
    /// A tar member of a type that has no meaning in a tree (a volume label, for one).
    MemberSkipped(u8),
    /// A tar member of an unknown type was taken as a regular file, as POSIX asks.
    MemberAsFile(u8),
    /// AUFS' own bookkeeping (names that begin with `.wh..wh.`).
    AufsBookkeeping,
    /// Something follows a tar's end marker: another tar, perhaps, whose members were not read.
    TrailingData,
    /// A tar has no end marker.
    NoEndMarker,
}

/// Collects notes; the result does not depend on their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes(BTreeMap<NoteKind, (Box<[u8]>, u64)>);

impl Notes {
    /// Notes that something happened to the file at `path`.
    pub(crate) fn add(&mut self, kind: NoteKind, path: &[u8]) {
        self.add_many(kind, path.into(), 1);
    }

    /// Takes what another collected.
    pub(crate) fn merge(&mut self, other: Self) {
        for (kind, (path, count)) in other.0 {
            self.add_many(kind, path, count);
        }
    }

    /// Notes that something happened several times, first to the file at `path`.
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
