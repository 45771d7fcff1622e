//! Formats notes about what a source has and its image has not.

use std::fmt;

use lith::{
    source::{Note, NoteKind},
    tree::DisplayPath,
};
use lith_report::number::Count;

use super::error;

/// A note on one line.
pub(crate) struct NoteLine<'a>(pub(crate) &'a Note);

impl fmt::Display for NoteLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Note { kind, path, count } = self.0;
        write!(f, "/{}: ", DisplayPath(path))?;
        match kind {
            NoteKind::Xattr(name) => {
                write!(
                    f,
                    "extended attribute {} is not representable in EROFS",
                    DisplayPath(name)
                )?;
            }
            NoteKind::Unreadable { reason, .. } => {
                write!(f, "left out: {}", error::without_number(reason))?;
            }
            NoteKind::OtherFilesystem => f.write_str("on another filesystem, left out")?,
            NoteKind::Output => f.write_str("is replaced by what is built, and left out")?,
            NoteKind::MemberSkipped(kind) => {
                write!(f, "tar member of type {} skipped", DisplayPath(&[*kind]))?;
            }
            NoteKind::MemberAsFile(kind) => {
                let kind = [*kind];
                write!(f, "tar member of type {} taken as a regular file", DisplayPath(&kind))?;
            }
            NoteKind::AufsBookkeeping => f.write_str("internal file of AUFS omitted")?,
            NoteKind::TrailingData => f.write_str("data after the end of the archive omitted")?,
            NoteKind::LinkBelow => {
                f.write_str("a hard link to a file of another layer is a file of its own")?;
            }
            NoteKind::NoEndMarker => f.write_str("the archive has no end marker")?,
        }
        match count.saturating_sub(1) {
            0 => Ok(()),
            more => write!(f, "; likewise {}", Count(more, "more file")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_name_the_first_and_count_the_rest() {
        let note =
            |kind, count| NoteLine(&Note { kind, path: b"a\n"[..].into(), count }).to_string();
        let xattr = NoteKind::Xattr(b"system.x"[..].into());
        assert_eq!(
            note(xattr, 1),
            "/a\\x0a: extended attribute system.x is not representable in EROFS"
        );
        assert_eq!(
            note(NoteKind::MemberSkipped(b'V'), 3),
            "/a\\x0a: tar member of type V skipped; likewise 2 more files"
        );
    }
}
