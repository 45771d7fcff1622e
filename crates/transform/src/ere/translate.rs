//! Translates POSIX extended regular expressions to the syntax of the crate `regex`.

use super::{bracket, byte::push_byte, error::RegexError};

/// The largest number in an interval (`RE_DUP_MAX`).
const MOST: u32 = 0x7fff;

struct Translator<'a> {
    pattern: &'a [u8],
    at: usize,
    out: String,
    /// Where the open groups start in `out`.
    groups: Vec<usize>,
    last: Last,
}

/// What a repetition would repeat.
#[derive(Clone, Copy)]
enum Last {
    /// Nothing.
    Nothing,
    /// The part of the output that starts there.
    Atom(usize),
    /// The part of the output that starts there, itself a repetition.
    Repetition(usize),
}

pub(super) fn translate(pattern: &[u8]) -> Result<String, RegexError> {
    let out = String::with_capacity(pattern.len() * 2);
    let mut translator =
        Translator { pattern, at: 0, out, groups: Vec::new(), last: Last::Nothing };
    while let Some(byte) = translator.next() {
        translator.item(byte)?;
    }
    match translator.groups.pop() {
        Some(_) => Err(RegexError::OpenGroup),
        None => Ok(translator.out),
    }
}

impl Translator<'_> {
    fn peek(&self) -> Option<u8> {
        self.pattern.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn item(&mut self, byte: u8) -> Result<(), RegexError> {
        match byte {
            b'\\' => self.escape()?,
            b'[' => self.bracket()?,
            b'(' => {
                self.groups.push(self.out.len());
                self.out.push_str("(?:");
                self.last = Last::Nothing;
            }
            b')' => self.close_group(),
            b'|' => self.anchor("|"),
            // Anchors at any position, as in the GNU C library.
            b'^' => self.anchor("^"),
            b'$' => self.anchor("$"),
            b'.' => self.atom("."),
            b'*' | b'+' | b'?' => {
                self.repeat(self.at - 1, char::from(byte).encode_utf8(&mut [0; 4]))?;
            }
            b'{' => self.interval()?,
            byte => self.literal(byte),
        }
        Ok(())
    }

    /// A parenthesis that closes nothing is a literal.
    fn close_group(&mut self) {
        match self.groups.pop() {
            Some(start) => {
                self.out.push(')');
                self.last = Last::Atom(start);
            }
            None => self.literal(b')'),
        }
    }

    fn atom(&mut self, text: &str) {
        self.last = Last::Atom(self.out.len());
        self.out.push_str(text);
    }

    /// Appends an operator that can't be repeated.
    fn anchor(&mut self, text: &str) {
        self.out.push_str(text);
        self.last = Last::Nothing;
    }

    fn literal(&mut self, byte: u8) {
        self.last = Last::Atom(self.out.len());
        push_byte(&mut self.out, byte);
    }

    fn escape(&mut self) -> Result<(), RegexError> {
        match self.next().ok_or(RegexError::TrailingBackslash)? {
            digit @ b'1'..=b'9' => return Err(RegexError::BackReference(digit.into())),
            b'w' => self.atom("[0-9A-Za-z_]"),
            b'W' => self.atom("[^0-9A-Za-z_]"),
            b's' => self.atom("[\\t\\n\\x0b\\x0c\\r ]"),
            b'S' => self.atom("[^\\t\\n\\x0b\\x0c\\r ]"),
            b'b' => self.anchor("\\b"),
            b'B' => self.anchor("\\B"),
            b'<' => self.anchor("\\b{start}"),
            b'>' => self.anchor("\\b{end}"),
            b'`' => self.anchor("\\A"),
            b'\'' => self.anchor("\\z"),
            byte => self.literal(byte),
        }
        Ok(())
    }

    fn bracket(&mut self) -> Result<(), RegexError> {
        let start = self.at - 1;
        let (_, rest) = self.pattern.split_at(self.at);
        let (set, length) = bracket::parse(rest, start)?;
        self.at += length;
        self.last = Last::Atom(self.out.len());
        set.write(&mut self.out);
        Ok(())
    }

    /// Repeats the preceding part. A repetition is put into a group, since two operators in sequence have a different meaning.
    fn repeat(&mut self, at: usize, operator: &str) -> Result<(), RegexError> {
        let start = match self.last {
            Last::Nothing => return Err(RegexError::NothingToRepeat(at)),
            Last::Atom(start) => start,
            Last::Repetition(start) => {
                self.out.insert_str(start, "(?:");
                self.out.push(')');
                start
            }
        };
        self.out.push_str(operator);
        self.last = Last::Repetition(start);
        Ok(())
    }

    /// `{n}`, `{n,}`, `{,m}` or `{n,m}` after its brace.
    fn interval(&mut self) -> Result<(), RegexError> {
        let start = self.at - 1;
        if matches!(self.last, Last::Nothing) {
            return Err(RegexError::NothingToRepeat(start));
        }
        let bad = RegexError::Interval(start);
        let least = self.number();
        let most = match self.next() {
            Some(b'}') if least.is_some() => {
                let number = least.filter(|number| *number <= MOST).ok_or(bad)?;
                return self.repeat(start, &format!("{{{number}}}"));
            }
            Some(b',') => self.number(),
            _ => return Err(bad),
        };
        let least = least.unwrap_or(0);
        let in_order = most.is_none_or(|most| least <= most) && most.unwrap_or(least) <= MOST;
        if !in_order || self.next() != Some(b'}') {
            return Err(bad);
        }
        let most = most.map_or_else(String::new, |most| most.to_string());
        self.repeat(start, &format!("{{{least},{most}}}"))
    }

    /// The number at this position, if there is one. It saturates: all numbers above the limit are refused alike.
    fn number(&mut self) -> Option<u32> {
        let mut number = None;
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
            let before = number.unwrap_or(0_u32);
            number = Some(before.saturating_mul(10).saturating_add(u32::from(digit - b'0')));
            self.at += 1;
        }
        number
    }
}
