//! Defines [`ExtendedGlob`], a glob with the groups of ksh and bash: `?(a|b)`, `*(…)`, `+(…)`, `@(…)`, `!(…)`.
//!
//! The set of positions that each part of a pattern can end at is followed through the text, so no text takes much longer
//! than others.

/// A glob with groups, for paths.
#[derive(Clone, Debug)]
pub(crate) struct ExtendedGlob {
    components: Vec<Component>,
}

/// What one name of a path, or several, must match.
#[derive(Clone, Debug)]
enum Component {
    /// `**`: any number of names.
    Names,
    Name(Vec<Part>),
}

#[derive(Clone, Debug)]
enum Part {
    Byte(u8),
    /// `?`: a character, of UTF-8 if it is such.
    Any,
    /// `*`.
    Star,
    Class(Class),
    Group(Repeat, Vec<Vec<Part>>),
}

#[derive(Clone, Debug)]
struct Class {
    is_negated: bool,
    ranges: Vec<(u8, u8)>,
}

/// How often the alternatives of a group match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Repeat {
    Once,
    AtMostOnce,
    AnyNumber,
    AtLeastOnce,
    Never,
}

/// What is wrong with a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GroupError {
    /// A group has no end.
    #[error("a group is not closed")]
    Open,
    /// A character class has no end, or a range in it is reversed.
    #[error("a character class is not closed, or has a reversed range")]
    Class,
}

impl ExtendedGlob {
    /// Whether a pattern has a group, without which it is a plain glob.
    pub(crate) fn is_one(pattern: &str) -> bool {
        let pairs = pattern.as_bytes().windows(2);
        pairs.into_iter().any(|pair| matches!(pair, [b'?' | b'*' | b'+' | b'@' | b'!', b'(']))
    }

    pub(crate) fn new(pattern: &str) -> Result<Self, GroupError> {
        let mut parser = Parser { rest: pattern.as_bytes() };
        let mut components = Vec::new();
        loop {
            let name = parser.sequence(b"/")?;
            components.push(match &*name {
                [Part::Star, Part::Star] => Component::Names,
                _ => Component::Name(name),
            });
            if parser.next().is_none() {
                return Ok(Self { components });
            }
        }
    }

    /// Whether the whole of `path` matches.
    pub(crate) fn is_match(&self, path: &[u8]) -> bool {
        let names: Vec<_> = path.split(|byte| *byte == b'/').collect();
        match_names(&self.components, &names)
    }
}

fn match_names(components: &[Component], names: &[&[u8]]) -> bool {
    match components.split_first() {
        None => names.is_empty(),
        // At the end `**` is everything below, which does not include the directory itself.
        Some((Component::Names, [])) => !names.is_empty(),
        Some((Component::Names, rest)) => (0..=names.len())
            .any(|skipped| names.get(skipped..).is_some_and(|names| match_names(rest, names))),
        Some((Component::Name(parts), rest)) => names
            .split_first()
            .is_some_and(|(name, names)| is_match(parts, name) && match_names(rest, names)),
    }
}

fn is_match(parts: &[Part], text: &[u8]) -> bool {
    let ends = after(parts, text, Positions::start(text));
    ends.0.last().copied().unwrap_or(false)
}

/// For each position in a text, before its first byte and after each, whether a part of the pattern can end there.
#[derive(Clone, PartialEq, Eq)]
struct Positions(Vec<bool>);

impl Positions {
    fn none(text: &[u8]) -> Self {
        Self(vec![false; text.len() + 1])
    }

    fn start(text: &[u8]) -> Self {
        Self::none(text).with(0)
    }

    fn with(mut self, position: usize) -> Self {
        if let Some(place) = self.0.get_mut(position) {
            *place = true;
        }
        self
    }

    fn or(mut self, other: &Self) -> Self {
        self.0.iter_mut().zip(&other.0).for_each(|(place, other)| *place |= other);
        self
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().filter(|(_, is_there)| **is_there).map(|(position, _)| position)
    }

    /// The positions that `step` leads to from each of these.
    fn step(&self, text: &[u8], step: impl Fn(usize) -> Option<usize>) -> Self {
        self.iter().filter_map(step).fold(Self::none(text), Self::with)
    }
}

/// The positions after all parts, begun at each of `from`.
fn after(parts: &[Part], text: &[u8], from: Positions) -> Positions {
    parts.iter().fold(from, |from, part| after_part(part, text, &from))
}

fn after_part(part: &Part, text: &[u8], from: &Positions) -> Positions {
    match part {
        Part::Byte(byte) => from.step(text, |at| (text.get(at) == Some(byte)).then_some(at + 1)),
        Part::Any => from.step(text, |at| text.get(at).map(|_| at + character(text, at))),
        Part::Class(class) => {
            from.step(text, |at| text.get(at).filter(|byte| class.contains(**byte)).map(|_| at + 1))
        }
        Part::Star => match from.iter().next() {
            Some(first) => (first..=text.len()).fold(Positions::none(text), Positions::with),
            None => Positions::none(text),
        },
        Part::Group(repeat, alternatives) => after_group(*repeat, alternatives, text, from),
    }
}

fn after_group(
    repeat: Repeat,
    alternatives: &[Vec<Part>],
    text: &[u8],
    from: &Positions,
) -> Positions {
    let once = |from: &Positions| {
        let ends = alternatives.iter().map(|parts| after(parts, text, from.clone()));
        ends.fold(Positions::none(text), |all, ends| all.or(&ends))
    };
    match repeat {
        Repeat::Once => once(from),
        Repeat::AtMostOnce => once(from).or(from),
        Repeat::AnyNumber => repeated(once, from.clone()),
        Repeat::AtLeastOnce => repeated(once, once(from)),
        Repeat::Never => from.iter().fold(Positions::none(text), |all, start| {
            let matched = once(&Positions::none(text).with(start));
            let others = (start..=text.len()).filter(|end| matched.0.get(*end) == Some(&false));
            others.fold(all, Positions::with)
        }),
    }
}

/// The positions after any number of further repetitions.
fn repeated(once: impl Fn(&Positions) -> Positions, mut all: Positions) -> Positions {
    loop {
        let more = all.clone().or(&once(&all));
        if more == all {
            return all;
        }
        all = more;
    }
}

/// The bytes of the character at a position: one, unless UTF-8 continues it.
fn character(text: &[u8], at: usize) -> usize {
    let is_continued = text.get(at).is_some_and(|byte| *byte >= 0xc0);
    let rest = text.get(at + 1..).unwrap_or_default();
    let more = rest.iter().take(3).take_while(|byte| matches!(byte, 0x80..=0xbf)).count();
    1 + if is_continued { more } else { 0 }
}

impl Class {
    fn contains(&self, byte: u8) -> bool {
        self.ranges.iter().any(|(first, last)| (*first..=*last).contains(&byte)) != self.is_negated
    }
}

struct Parser<'a> {
    rest: &'a [u8],
}

impl Parser<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    /// The parts up to one of `ends`, which stays, or to the end of the pattern.
    fn sequence(&mut self, ends: &[u8]) -> Result<Vec<Part>, GroupError> {
        let mut parts = Vec::new();
        while let Some(byte) = self.rest.first().copied().filter(|byte| !ends.contains(byte)) {
            self.next();
            let repeat = self.repeat(byte);
            parts.push(match (byte, repeat) {
                (_, Some(repeat)) => {
                    self.next();
                    Part::Group(repeat, self.alternatives(*b"|)")?)
                }
                (b'{', None) => Part::Group(Repeat::Once, self.alternatives(*b",}")?),
                (b'?', None) => Part::Any,
                (b'*', None) => Part::Star,
                (b'[', None) => Part::Class(self.class()?),
                (b'\\', None) => Part::Byte(self.next().unwrap_or(b'\\')),
                (byte, None) => Part::Byte(byte),
            });
        }
        Ok(parts)
    }

    /// The repetition that a byte means before an opening parenthesis.
    fn repeat(&self, byte: u8) -> Option<Repeat> {
        let repeat = match byte {
            b'@' => Repeat::Once,
            b'?' => Repeat::AtMostOnce,
            b'*' => Repeat::AnyNumber,
            b'+' => Repeat::AtLeastOnce,
            b'!' => Repeat::Never,
            _ => return None,
        };
        self.rest.starts_with(b"(").then_some(repeat)
    }

    /// The alternatives of a group; of `marks` the first separates them, the last ends the group.
    fn alternatives(&mut self, marks: [u8; 2]) -> Result<Vec<Vec<Part>>, GroupError> {
        let mut alternatives = Vec::new();
        loop {
            alternatives.push(self.sequence(&marks)?);
            match self.next() {
                None => return Err(GroupError::Open),
                Some(mark) if mark == marks[1] => return Ok(alternatives),
                Some(_separator) => {}
            }
        }
    }

    /// A class after its opening bracket. A closing one that comes first is a member.
    fn class(&mut self) -> Result<Class, GroupError> {
        let is_negated = matches!(self.rest.first(), Some(b'!' | b'^'));
        if is_negated {
            self.next();
        }
        let mut ranges = Vec::new();
        loop {
            let first = match self.next().ok_or(GroupError::Class)? {
                b']' if !ranges.is_empty() => return Ok(Class { is_negated, ranges }),
                b'\\' => self.next().ok_or(GroupError::Class)?,
                byte => byte,
            };
            let last = match self.rest {
                [b'-', last, ..] if *last != b']' => *last,
                _ => first,
            };
            if last < first {
                return Err(GroupError::Class);
            }
            if matches!(self.rest, [b'-', last, ..] if *last != b']') {
                self.next();
                self.next();
            }
            ranges.push((first, last));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_match_as_in_bash() {
        for (pattern, yes, no) in [
            ("@(a|b).c", &["a.c", "b.c"][..], &["ab.c", ".c", "c.c"][..]),
            ("?(a|b)c", &["c", "ac", "bc"], &["abc", "aac"]),
            ("*(ab|c)d", &["d", "abd", "cabcd"], &["ad", "abab"]),
            ("+(ab|c)d", &["abd", "ccd"], &["d", "ad"]),
            ("!(*.c|*.h)", &["x.o", "c", ""], &["x.c", ".h"]),
            ("a!(b)c", &["ac", "axc", "abbc"], &["abc", "ab"]),
            ("!(foo)bar", &["bar", "xbar", "foobarbar"], &["foobar", "foo"]),
            ("x@({a,b}|[0-9]|[!p-z]?)", &["xa", "x7", "xoo"], &["xz", "xpp"]),
            ("**/@(a|b)/*", &["a/x", "q/r/b/y"], &["a", "q/a", "c/x"]),
            ("u/@(a|b)/**", &["u/a/x", "u/b/x/y"], &["u/a", "u/c/x"]),
            ("+(?)", &["é", "ab"], &[""]),
            ("@(?)", &["é", "a"], &["ab", ""]),
            ("@([]a-]|\\*)", &["]", "a", "-", "*"], &["b"]),
        ] {
            let glob = ExtendedGlob::new(pattern).unwrap();
            assert!(ExtendedGlob::is_one(pattern), "{pattern}");
            for text in yes {
                assert!(glob.is_match(text.as_bytes()), "{pattern} {text}");
            }
            for text in no {
                assert!(!glob.is_match(text.as_bytes()), "{pattern} {text}");
            }
        }
        assert!(!ExtendedGlob::is_one("*.c") && !ExtendedGlob::is_one("a(b)!"));
    }

    #[test]
    fn deep_groups_end_and_open_ones_are_refused() {
        let deep = format!("{}x{}", "*(a|".repeat(5), ")".repeat(5));
        let glob = ExtendedGlob::new(&deep).unwrap();
        assert!(glob.is_match(&[b'a'; 200]) && !glob.is_match(&[&[b'a'; 200][..], b"y"].concat()));
        for (pattern, error) in [
            ("@(a|b", GroupError::Open),
            ("!({a,b)", GroupError::Open),
            ("+([a)", GroupError::Class),
            ("+([z-a])", GroupError::Class),
        ] {
            assert_eq!(ExtendedGlob::new(pattern).unwrap_err(), error, "{pattern}");
        }
    }
}
