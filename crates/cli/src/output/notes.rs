//! What does a person read of what a source had and the image has not?

use std::fmt;

use lith::{
    source::{Note, NoteKind},
    tree::DisplayPath,
};

use super::number::Count;

/// A note in one line.
pub(crate) struct NoteLine<'a>(pub(crate) &'a Note);

impl fmt::Display for NoteLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Note { kind, path, count } = self.0;
        write!(f, "/{}: ", DisplayPath(path))?;
        match kind {
            NoteKind::Xattr(name) => {
                write!(f, "extended attribute {} has no place in the format", DisplayPath(name))?;
            }
            NoteKind::MemberSkipped(kind) => {
                write!(f, "tar member of type {} skipped", DisplayPath(&[*kind]))?;
            }
            NoteKind::MemberAsFile(kind) => {
                let kind = [*kind];
                write!(f, "tar member of type {} taken as a regular file", DisplayPath(&kind))?;
            }
            NoteKind::AufsBookkeeping => f.write_str("file of AUFS itself left out")?,
            NoteKind::TrailingData => f.write_str("data behind the end of the tar left out")?,
            NoteKind::NoEndMarker => f.write_str("end marker of the tar missing")?,
        }
        match count.saturating_sub(1) {
            0 => Ok(()),
            more => write!(f, "; so with {}", Count(more, "more file")),
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
            "/a\\x0a: extended attribute system.x has no place in the format"
        );
        assert_eq!(
            note(NoteKind::MemberSkipped(b'V'), 3),
            "/a\\x0a: tar member of type V skipped; so with 2 more files"
        );
    }
}
