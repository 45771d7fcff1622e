//! Reads what can be read of damaged images, and tells what is lost.

use lith::{
    reader,
    source::{Losses, Note, NoteKind, OnError, Source, salvage},
};
use lith_report::number::Count;

use crate::{
    args::common::SalvageArgs,
    exit::Outcome,
    output::{
        error::{harmless, tell},
        exported,
        notes::NoteLine,
    },
};

/// What is lost of an image; nothing unless it is to be salvaged, because then damage is an error.
#[derive(Default)]
pub(crate) struct Lost {
    notes: Vec<Note>,
    losses: Losses,
}

impl SalvageArgs {
    /// What happens to a file whose inode can't be read.
    pub(crate) const fn on_error(self) -> OnError {
        if self.keep_going { OnError::Skip } else { OnError::Fail }
    }

    /// The source as it is to be read: of the given paths, or all of it, that can be read, if it is to be salvaged.
    pub(crate) fn apply(self, mut source: Source, paths: &[Vec<u8>]) -> (Source, Lost) {
        if !self.keep_going {
            return (source, Lost::default());
        }
        let is_wanted = |path: &[u8]| paths.is_empty() || paths.iter().any(|at| is_at(path, at));
        let is_lost = |note: &Note| matches!(note.kind, NoteKind::Unreadable { .. });
        let mut notes = std::mem::take(&mut source.notes);
        notes.retain(|note| is_lost(note) && is_wanted(&note.path));
        let (source, losses) = salvage(source, &is_wanted);
        (source, Lost { notes, losses })
    }
}

/// Whether a path, or a directory above it, is `at`.
fn is_at(path: &[u8], at: &[u8]) -> bool {
    let names = |path: &[u8]| -> Vec<Vec<u8>> {
        let names = path.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
        names.map(<[u8]>::to_vec).collect()
    };
    names(path).starts_with(&names(at))
}

impl Lost {
    /// The list to which bytes that can't be read are added.
    pub(crate) const fn losses(&self) -> &Losses {
        &self.losses
    }

    /// What is lost, for programs.
    pub(crate) fn records(&self) -> Vec<exported::Damaged> {
        let losses = self.losses.list();
        self.notes.iter().map(Into::into).chain(losses.iter().map(Into::into)).collect()
    }

    /// Tells what is lost, and returns the outcome.
    pub(crate) fn conclude(self) -> Outcome {
        let losses = self.losses.list();
        let count = self.notes.len() + losses.len();
        for note in &self.notes {
            tell(format_args!("lith: {}", NoteLine(note)));
        }
        for loss in &losses {
            tell(format_args!("lith: {}", harmless(&loss.to_string())));
        }
        if count == 0 {
            return Outcome::Success;
        }
        let files = Count(count as u64, "file");
        tell(format_args!("lith: {files} damaged; all else is complete"));
        Outcome::Reported
    }
}

/// Options of a reader that accepts any checksum of the superblock, or only the right one.
pub(crate) fn reader_options(any_checksum: bool) -> reader::Options {
    reader::Options::with(|options| options.any_checksum = any_checksum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_compared_by_names() {
        for (path, at, expected) in [
            ("a/b", "/a/", true),
            ("a/b", "./a/b", true),
            ("ab", "a", false),
            ("a", "a/b", false),
            ("a", "/", true),
        ] {
            assert_eq!(is_at(path.as_bytes(), at.as_bytes()), expected, "{path} {at}");
        }
    }
}
