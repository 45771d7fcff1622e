//! Parses bracket expressions into sets of bytes.

use super::{byte::push_byte, error::RegexError};

#[derive(Debug)]
pub(super) struct ByteSet {
    members: [bool; 256],
    negated: bool,
}

/// A part of a bracket expression.
enum Part {
    Byte(u8),
    Class(fn(&u8) -> bool),
}

struct Parser<'a> {
    rest: &'a [u8],
    /// Where the expression starts in the pattern, for errors.
    start: usize,
}

/// Parses `text`, which follows an opening bracket at `start`. Also returns how many bytes of it belong to the expression.
pub(super) fn parse(text: &[u8], start: usize) -> Result<(ByteSet, usize), RegexError> {
    let mut parser = Parser { rest: text, start };
    let set = parser.set()?;
    Ok((set, text.len() - parser.rest.len()))
}

impl<'a> Parser<'a> {
    fn open(&self) -> RegexError {
        RegexError::OpenBracket(self.start)
    }

    fn take(&mut self, prefix: &[u8]) -> bool {
        match self.rest.strip_prefix(prefix) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn set(&mut self) -> Result<ByteSet, RegexError> {
        let mut set = ByteSet { members: [false; 256], negated: self.take(b"^") };
        // A closing bracket in first position is a member.
        let mut first = true;
        while first || !self.take(b"]") {
            first = false;
            let part = self.part()?;
            if self.begins_range() {
                self.take(b"-");
                let end = self.part()?;
                self.range(&mut set, &part, &end)?;
            } else {
                set.add(&part);
            }
        }
        Ok(set)
    }

    /// A minus just before the closing bracket is a member.
    fn begins_range(&self) -> bool {
        matches!(self.rest, [b'-', next, ..] if *next != b']')
    }

    fn part(&mut self) -> Result<Part, RegexError> {
        match self.rest {
            [b'[', kind @ (b':' | b'.' | b'='), rest @ ..] => self.named(*kind, rest),
            [byte, rest @ ..] => {
                self.rest = rest;
                Ok(Part::Byte(*byte))
            }
            [] => Err(self.open()),
        }
    }

    /// `[:class:]`, `[.character.]` or `[=character=]`; `text` follows its first two bytes.
    fn named(&mut self, kind: u8, text: &'a [u8]) -> Result<Part, RegexError> {
        let end = text.windows(2).position(|pair| pair == [kind, b']']).ok_or(self.open())?;
        let (name, rest) = text.split_at(end);
        let (_, rest) = rest.split_at(2);
        let unknown = RegexError::Unknown(self.start);
        let part = match (kind, name) {
            (b':', name) => Part::Class(class(name).ok_or(unknown)?),
            (_, [byte]) => Part::Byte(*byte),
            _ => return Err(unknown),
        };
        self.rest = rest;
        Ok(part)
    }

    fn range(&self, set: &mut ByteSet, from: &Part, to: &Part) -> Result<(), RegexError> {
        match (from, to) {
            (Part::Byte(from), Part::Byte(to)) if from <= to => {
                (*from..=*to).for_each(|byte| set.add(&Part::Byte(byte)));
                Ok(())
            }
            _ => Err(RegexError::Range(self.start)),
        }
    }
}

fn class(name: &[u8]) -> Option<fn(&u8) -> bool> {
    Some(match name {
        b"alnum" => u8::is_ascii_alphanumeric,
        b"alpha" => u8::is_ascii_alphabetic,
        b"blank" => |byte| matches!(byte, b' ' | b'\t'),
        b"cntrl" => u8::is_ascii_control,
        b"digit" => u8::is_ascii_digit,
        b"graph" => u8::is_ascii_graphic,
        b"lower" => u8::is_ascii_lowercase,
        b"print" => |byte| matches!(byte, b' '..=b'~'),
        b"punct" => u8::is_ascii_punctuation,
        b"space" => |byte| matches!(byte, b' ' | 9..=13),
        b"upper" => u8::is_ascii_uppercase,
        b"xdigit" => u8::is_ascii_hexdigit,
        _ => return None,
    })
}

impl ByteSet {
    fn add(&mut self, part: &Part) {
        for (byte, member) in (0..=u8::MAX).zip(&mut self.members) {
            *member |= match part {
                Part::Byte(one) => byte == *one,
                Part::Class(class) => class(&byte),
            };
        }
    }

    /// Appends the set as a bracket expression of single bytes, which is unambiguous.
    pub(super) fn write(&self, out: &mut String) {
        out.push_str(if self.negated { "[^" } else { "[" });
        let members = (0..=u8::MAX).zip(self.members).filter(|(_, member)| *member);
        members.for_each(|(byte, _)| push_byte(out, byte));
        out.push(']');
    }
}
