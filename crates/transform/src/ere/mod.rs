//! What does a POSIX extended regular expression match? Defines [`ExtendedRegex`].
//!
//! Expressions have the meaning that `regcomp` of the GNU C library gives them in the C locale: bytes are characters,
//! `.` is any byte, and `\w`, `\<` and the like are known. They are translated for the crate `regex`, whose syntax
//! differs in bracket expressions, escapes and intervals. Only whether there is a match is of interest, so leftmost-longest
//! against leftmost-first does not matter.

mod bracket;
mod byte;
mod error;
mod translate;

use regex::bytes::{Regex, RegexBuilder};

pub(crate) use byte::push_byte;
pub use error::RegexError;

/// A POSIX extended regular expression.
#[derive(Clone, Debug)]
pub struct ExtendedRegex(Regex);

impl ExtendedRegex {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// [`RegexError`] if it is invalid or not supported.
    pub fn new(pattern: &[u8]) -> Result<Self, RegexError> {
        let translated = translate::translate(pattern)?;
        let mut builder = RegexBuilder::new(&translated);
        let built = builder.unicode(false).dot_matches_new_line(true).build();
        built.map(Self).map_err(RegexError::Compile)
    }

    /// Whether it matches anywhere in `text`.
    #[must_use]
    pub fn is_match(&self, text: &[u8]) -> bool {
        self.0.is_match(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        ExtendedRegex::new(pattern.as_bytes()).unwrap().is_match(text.as_bytes())
    }

    #[test]
    fn matches_what_regcomp_matches() {
        for (pattern, yes, no) in [
            ("^usr/share/(doc|man)/", "usr/share/man/x", "opt/usr/share/man/x"),
            ("\\.py[co]?$", "a/b.pyc", "a/bxpyc"),
            ("[[:alnum:]./]b", "/b", "-b"),
            ("^[]abc]+$", "]a]", "]d"),
            ("^[^]abc]$", "d", "]"),
            ("^[a-]$", "-", "b"),
            ("^[+--]$", ",", "a"),
            ("^[\\d]$", "\\", "7"),
            ("^[[.-.]x[=y=]]$", "-", "."),
            ("^a{,3}$", "aaa", "aaaa"),
            ("^a{2}$", "aa", "a"),
            ("^a{2,}b{,}$", "aaaabb", "ab"),
            ("^a+?$", "", "b"),
            ("^(ab){2}{2}$", "abababab", "abab"),
            ("a\\/b\\-\\%", "a/b-%", "a\\/b"),
            ("\\<lib\\>", "usr/lib/x", "usr/lib64"),
            ("\\blib\\B", "lib64", "lib"),
            ("^\\w\\W\\s\\S$", "a- b", "a-bb"),
            ("\\`a\\'", "a", "ab"),
            ("a)", "a)", "a"),
            ("a}]", "a}]", "a]"),
            ("^(|x)y$", "y", "zy"),
            ("^(a||b)$", "", "ab"),
            ("()^x", "x", "yx"),
            ("^é$", "é", "e"),
            ("a b#c&&~", "a b#c&&~", "ab"),
            ("^[a&&b~~-]$", "&", "d"),
            ("a^b|c$d|ok", "ok", "a^b"),
            ("a\nb|x.y", "x\ny", "a b"),
            ("[[:digit:][:upper:]_]", "A", "a"),
            ("\\{\\}\\(\\)\\|\\*", "{}()|*", "a"),
        ] {
            assert!(matches(pattern, yes), "{pattern} {yes}");
            assert!(!matches(pattern, no), "{pattern} {no}");
        }
        assert!(matches("", "x") && matches("a|", "x"));
        assert!(ExtendedRegex::new(b"^\xff*$").unwrap().is_match(b"\xff\xff"));
    }

    #[test]
    fn invalid_expressions_are_refused() {
        for (pattern, error) in [
            ("(a)\\1", RegexError::BackReference('1')),
            ("a\\", RegexError::TrailingBackslash),
            ("*a", RegexError::NothingToRepeat(0)),
            ("a|+b", RegexError::NothingToRepeat(2)),
            ("(?:a)", RegexError::NothingToRepeat(1)),
            ("^*", RegexError::NothingToRepeat(1)),
            ("{1}", RegexError::NothingToRepeat(0)),
            ("a{x}", RegexError::Interval(1)),
            ("a{2,1}", RegexError::Interval(1)),
            ("a{1", RegexError::Interval(1)),
            ("a{99999}", RegexError::Interval(1)),
            ("x[a", RegexError::OpenBracket(1)),
            ("[]", RegexError::OpenBracket(0)),
            ("[[:alpha:", RegexError::OpenBracket(0)),
            ("[z-a]", RegexError::Range(0)),
            ("[[:digit:]-z]", RegexError::Range(0)),
            ("[[:word:]]", RegexError::Unknown(0)),
            ("[[.hyphen.]]", RegexError::Unknown(0)),
            ("(a", RegexError::OpenGroup),
        ] {
            assert_eq!(ExtendedRegex::new(pattern.as_bytes()).unwrap_err(), error, "{pattern}");
        }
        let large = format!("{}a{}", "(".repeat(1000), "){9}".repeat(1000));
        assert!(matches!(ExtendedRegex::new(large.as_bytes()), Err(RegexError::Compile(_))));
    }
}
