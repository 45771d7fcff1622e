//! Defines [`Name`], one name in a directory, and how paths are joined and printed.

use std::{
    borrow::Borrow,
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

/// One name in a directory: 1 to 255 bytes without `/` or NUL, neither `.` nor `..`.
#[derive(Clone)]
pub struct Name(Bytes);

/// The most bytes that need no memory of their own. Each inode has its name twice, and most names are short.
const SHORT: usize = 22;

/// Bytes of a name.
#[derive(Clone)]
enum Bytes {
    Short { len: u8, bytes: [u8; SHORT] },
    Long(Arc<[u8]>),
}

/// Why bytes are not a valid name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// It is empty, `.` or `..`.
    #[error("the name {} is reserved", DisplayPath(.0))]
    Reserved(Box<[u8]>),
    /// It has more than 255 bytes.
    #[error("the name {} has {} bytes, more than 255", DisplayPath(.0), .0.len())]
    TooLong(Box<[u8]>),
    /// It has a `/` or a NUL byte inside.
    #[error("the name {} has a slash or a NUL byte", DisplayPath(.0))]
    Separator(Box<[u8]>),
}

impl Name {
    /// The most bytes that a name can have.
    pub const MAX: usize = 255;

    /// Makes a name of `bytes`.
    ///
    /// # Errors
    /// [`NameError`] if they are not a valid name.
    pub fn new(bytes: &[u8]) -> Result<Self, NameError> {
        if matches!(bytes, b"" | b"." | b"..") {
            return Err(NameError::Reserved(bytes.into()));
        }
        if bytes.len() > Self::MAX {
            return Err(NameError::TooLong(bytes.into()));
        }
        if bytes.iter().any(|byte| matches!(byte, b'/' | 0)) {
            return Err(NameError::Separator(bytes.into()));
        }
        let mut short = [0; SHORT];
        Ok(Self(match (short.get_mut(..bytes.len()), u8::try_from(bytes.len())) {
            (Some(start), Ok(len)) => {
                start.copy_from_slice(bytes);
                Bytes::Short { len, bytes: short }
            }
            _ => Bytes::Long(bytes.into()),
        }))
    }

    /// The name's bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Bytes::Short { len, bytes } => bytes.get(..usize::from(*len)).unwrap_or_default(),
            Bytes::Long(bytes) => bytes,
        }
    }
}

/// Appends a name to a path, after a slash if the path is not empty.
pub fn push_name(path: &mut Vec<u8>, name: &[u8]) {
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
}

impl Borrow<[u8]> for Name {
    fn borrow(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Name {}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Name({})", DisplayPath(self.as_bytes()))
    }
}

/// Prints the bytes of a path on one line: printable UTF-8 unchanged, a backslash doubled, all else as `\xHH`, so that
/// different bytes never look the same and none controls a terminal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DisplayPath<'a>(pub &'a [u8]);

impl fmt::Display for DisplayPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for c in chunk.valid().chars() {
                match c {
                    '\\' => f.write_str("\\\\")?,
                    c if c.is_control() || is_invisible(c) => escape(f, c)?,
                    c => write!(f, "{c}")?,
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for DisplayPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Characters that print nothing or change the order of what is printed.
const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn escape(f: &mut fmt::Formatter<'_>, c: char) -> fmt::Result {
    for byte in c.encode_utf8(&mut [0; 4]).bytes() {
        write!(f, "\\x{byte:02x}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_to_the_rules() {
        assert!(Name::new(&[b'a'; 255]).is_ok());
        assert!(Name::new(b"\xff\n ").is_ok());
        assert!(Name::new(b"...").is_ok());
        assert!(matches!(Name::new(&[b'a'; 256]), Err(NameError::TooLong(_))));
        for reserved in [&b""[..], b".", b".."] {
            assert!(matches!(Name::new(reserved), Err(NameError::Reserved(_))));
        }
        for bad in [&b"a/b"[..], b"a\0"] {
            assert!(matches!(Name::new(bad), Err(NameError::Separator(_))));
        }
    }

    #[test]
    fn names_of_all_lengths_are_their_bytes() {
        let mut all: Vec<_> = (1..=Name::MAX).map(|len| vec![b"abc"[len % 3]; len]).collect();
        let mut names: Vec<_> = all.iter().map(|bytes| Name::new(bytes).unwrap()).collect();
        assert!(all.iter().zip(&names).all(|(bytes, name)| bytes == name.as_bytes()));
        all.sort_unstable();
        names.sort_unstable();
        assert!(all.iter().zip(&names).all(|(bytes, name)| bytes == name.as_bytes()));
        let hash = |value: &dyn Fn(&mut std::hash::DefaultHasher)| {
            let mut hasher = std::hash::DefaultHasher::new();
            value(&mut hasher);
            hasher.finish()
        };
        for (bytes, name) in all.iter().zip(&names) {
            assert_eq!(hash(&|to| bytes.hash(to)), hash(&|to| name.hash(to)));
            assert!(*name == Name::new(bytes).unwrap());
        }
        assert_eq!(size_of::<Name>(), 24);
    }

    #[test]
    fn paths_are_shown_unambiguously() {
        assert_eq!(DisplayPath("a/ü\\".as_bytes()).to_string(), "a/ü\\\\");
        assert_eq!(DisplayPath(b"\x1b[0m\xff\n").to_string(), "\\x1b[0m\\xff\\x0a");
        assert_eq!(DisplayPath("\u{202e}".as_bytes()).to_string(), "\\xe2\\x80\\xae");
    }
}
