//! Translates expressions of PCRE to the syntax of the crate `regex`.

use super::error::LabelProblem;
use crate::ere::push_byte;

struct Translator<'a> {
    rest: &'a [u8],
    out: String,
}

/// Rewrites a pattern where the crate gives a different meaning to the same characters, and refuses possessive repetitions, which
/// the crate would misread. Other features that the crate lacks fail when the result is compiled.
pub(super) fn translate(pattern: &[u8]) -> Result<String, LabelProblem> {
    let mut translator =
        Translator { rest: pattern, out: String::with_capacity(pattern.len() * 2) };
    while let Some(byte) = translator.next() {
        match byte {
            b'\\' => translator.escape()?,
            b'[' => translator.class()?,
            b'*' | b'+' | b'?' | b'}' if translator.rest.first() == Some(&b'+') => {
                return Err(LabelProblem::Possessive);
            }
            byte => translator.push(byte),
        }
    }
    Ok(translator.out)
}

impl Translator<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn push(&mut self, byte: u8) {
        if byte.is_ascii() {
            self.out.push(char::from(byte));
        } else {
            push_byte(&mut self.out, byte);
        }
    }

    fn escape(&mut self) -> Result<(), LabelProblem> {
        let byte = self.next().ok_or(LabelProblem::TrailingBackslash)?;
        if byte.is_ascii_alphanumeric() {
            self.out.push('\\');
            self.out.push(char::from(byte));
        } else {
            push_byte(&mut self.out, byte);
        }
        Ok(())
    }

    /// A class of characters after its opening bracket. Brackets and doubled operators in it have no meaning in PCRE.
    fn class(&mut self) -> Result<(), LabelProblem> {
        self.out.push('[');
        if self.rest.first() == Some(&b'^') {
            self.next();
            self.out.push('^');
        }
        let mut first = true;
        while let Some(byte) = self.next() {
            match byte {
                b']' if !first => {
                    self.out.push(']');
                    break;
                }
                b'\\' => self.escape()?,
                b'[' if self.rest.first() == Some(&b':') => self.named_class(),
                b'-' if self.out.ends_with('-') => push_byte(&mut self.out, byte),
                b'-' => self.out.push('-'),
                byte => push_byte(&mut self.out, byte),
            }
            first = false;
        }
        Ok(())
    }

    /// `[:name:]` after its first bracket.
    fn named_class(&mut self) {
        self.out.push('[');
        let end = self.rest.windows(2).position(|pair| pair == b":]").map_or(0, |end| end + 2);
        for _ in 0..end {
            if let Some(byte) = self.next() {
                self.push(byte);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use regex::bytes::RegexBuilder;

    use super::*;

    #[test]
    fn characters_keep_the_meaning_of_pcre() {
        for (pattern, yes, no) in [
            ("/a[[b]", "/a[", "/a]"),
            ("/[]x]", "/]", "/y"),
            ("/[^]x]", "/y", "/]"),
            ("/[a&&b~~c]", "/&", "/d"),
            ("/[+--]", "/,", "/a"),
            ("/[[:digit:]_]+", "/1_2", "/a"),
            ("/[\\d\\]]", "/]", "/d"),
            ("/\\<a\\>\\/\\-", "/<a>/-", "/a/-"),
            ("/x\\.so(\\.[0-9]+)?", "/x.so.1", "/x.so."),
            ("/(?:a|b)*?c", "/abc", "/ab"),
            ("/\u{e9}", "/\u{e9}", "/e"),
            ("/{a}", "/{a}", "/a"),
        ] {
            let built = RegexBuilder::new(&format!("^{}$", translate(pattern.as_bytes()).unwrap()));
            let Ok(regex) = { built }.unicode(false).build() else {
                assert_eq!(pattern, "/{a}");
                continue;
            };
            assert!(regex.is_match(yes.as_bytes()), "{pattern} {yes}");
            assert!(!regex.is_match(no.as_bytes()), "{pattern} {no}");
        }
    }
}
