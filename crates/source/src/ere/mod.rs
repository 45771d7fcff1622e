//! What does a POSIX extended regular expression match?
//!
//! Expressions have the meaning that `regcomp` of the GNU C library gives them in the C locale: bytes are characters,
//! `.` is any byte, and `\w`, `\<` and the like are known. They are translated for the crate `regex`, whose syntax
//! differs in bracket expressions, escapes and intervals. Only whether there is a match is asked, so which of several it
//! is does not matter.

mod bracket;
mod translate;

use regex::bytes::{Regex, RegexBuilder};

pub(crate) use translate::push_byte;

/// A POSIX extended regular expression.
#[derive(Clone, Debug)]
pub struct ExtendedRegex(Regex);

/// Why something is no extended regular expression, or none that can be used. Positions count bytes.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RegexError {
    /// It refers to what a group matched.
    #[error("the back-reference \\{0} is not supported")]
    BackReference(char),
    /// It ends in a backslash.
    #[error("a backslash ends it")]
    TrailingBackslash,
    /// A repetition has nothing before it.
    #[error("the repetition at byte {0} has nothing to repeat")]
    NothingToRepeat(usize),
    /// The braces hold no numbers in the right order.
    #[error("the braces at byte {0} hold no interval")]
    Interval(usize),
    /// A bracket expression is not closed.
    #[error("the bracket at byte {0} is not closed")]
    OpenBracket(usize),
    /// A parenthesis is not closed.
    #[error("a parenthesis is not closed")]
    OpenGroup,
    /// A bracket expression has a range whose ends are no characters in the right order.
    #[error("the bracket at byte {0} has an impossible range")]
    Range(usize),
    /// A bracket expression names a class or character that is not there.
    #[error("the bracket at byte {0} names something unknown")]
    Unknown(usize),
    /// It is too large, or nested too deeply.
    #[error("it can't be compiled")]
    Compile(#[source] regex::Error),
}

impl ExtendedRegex {
    /// Takes a pattern.
    ///
    /// # Errors
    /// [`RegexError`] says what is wrong with it.
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
    fn what_is_no_expression_is_named() {
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
