//! Defines [`Excludes`], the patterns of paths that a source leaves out.

use std::fmt;

use lith_tree::{Name, push_name};

use crate::patterns::{ExcludeError, Pattern, Patterns};

/// Patterns of paths to leave out, and of exceptions. An excluded directory is left out with everything in it, except
/// what is included again.
///
/// In patterns `*`, `?` and `[...]` match inside one name, `**` across names, `{a,b}` either. `?(a|b)` matches at most one of
/// the patterns in it, `*(a|b)` any number, `+(a|b)` at least one, `@(a|b)` one, and `!(a|b)` what none of them
/// matches. A pattern without a slash matches a name in any directory; one with a slash, also at its start, matches the path
/// from the root. A trailing slash is ignored. A pattern after `!` is an exception.
#[derive(Clone, Debug, Default)]
pub struct Excludes {
    excluded: Patterns,
    included: Patterns,
}

/// What patterns say about a file by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is left out.
    Excluded,
    /// It is taken, also from a directory that is left out.
    Included,
}

/// A pattern that matched no file.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Unmatched {
    /// What the pattern is for.
    pub role: Role,
    /// The pattern.
    pub pattern: String,
    /// A pattern that matches what this one presumably means.
    pub meant: Option<String>,
}

/// What a pattern is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Role {
    /// It leaves files out.
    Exclusion,
    /// It takes files that are left out otherwise.
    Inclusion,
    /// It chooses a compression.
    Rule,
    /// It sets attributes.
    Setting,
}

impl fmt::Display for Unmatched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = match self.role {
            Role::Exclusion => "exclusion",
            Role::Inclusion => "inclusion",
            Role::Rule => "rule for",
            Role::Setting => "setting for",
        };
        write!(f, "the {role} {} matches nothing", self.pattern)?;
        match &self.meant {
            Some(meant) => write!(f, "; paths start at the source: {meant}"),
            None => Ok(()),
        }
    }
}

impl Excludes {
    /// Compiles glob patterns.
    ///
    /// # Errors
    /// [`ExcludeError`] names the first invalid pattern.
    pub fn new<S: AsRef<str>>(patterns: impl IntoIterator<Item = S>) -> Result<Self, ExcludeError> {
        let (mut excluded, mut included) = (Vec::new(), Vec::new());
        for pattern in patterns {
            match exception(pattern.as_ref()) {
                Some(exception) => included.push(exception.to_owned()),
                None => excluded.push(pattern.as_ref().to_owned()),
            }
        }
        Ok(Self { excluded: Patterns::globs(&excluded)?, included: Patterns::globs(&included)? })
    }

    /// Excludes one path, from the root and without a leading slash.
    pub fn add_path(&mut self, path: &[u8]) {
        self.excluded.add_path(path);
    }

    /// Excludes the paths, from the root and without a leading slash, in which a POSIX extended regular
    /// expression matches anywhere.
    ///
    /// # Errors
    /// [`ExcludeError`] if it is invalid.
    pub fn add_regex(&mut self, pattern: &[u8]) -> Result<(), ExcludeError> {
        self.excluded.add_regex(pattern)
    }

    /// Whether nothing is excluded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.excluded.is_empty()
    }

    /// Whether a directory that is left out may hold files that are taken.
    #[must_use]
    pub fn has_exceptions(&self) -> bool {
        !self.included.is_empty()
    }

    /// Whether the directory makes a difference, and not only the name.
    pub(crate) fn needs_paths(&self) -> bool {
        self.excluded.has_paths() || self.included.has_paths()
    }

    /// What the patterns say about the file called `name` in the directory at `parent` (a path from the root without slashes
    /// at its ends). `None`: it is treated as that directory is.
    #[must_use]
    pub fn verdict(&self, parent: &[u8], name: &[u8]) -> Option<Verdict> {
        if self.is_empty() && !self.has_exceptions() {
            return None;
        }
        let mut path = Vec::new();
        if self.needs_paths() {
            path.reserve(parent.len() + 1 + Name::MAX);
            push_name(&mut path, parent);
            push_name(&mut path, name);
        }
        if self.included.matches(&path, name) {
            return Some(Verdict::Included);
        }
        self.excluded.matches(&path, name).then_some(Verdict::Excluded)
    }

    /// Whether the file at `path`, or a directory above it, is left out, and nothing below that is taken again.
    #[must_use]
    pub fn covers(&self, path: &[u8]) -> bool {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        let mut verdicts = ends.chain([path.len()]).filter_map(|end| {
            let (path, _) = path.split_at(end);
            let slash = path.iter().rposition(|byte| *byte == b'/');
            let (parent, name) = match slash {
                Some(slash) => (path.get(..slash)?, path.get(slash + 1..)?),
                None => (&b""[..], path),
            };
            self.verdict(parent, name)
        });
        verdicts.next_back() == Some(Verdict::Excluded)
    }

    /// The patterns that have matched nothing so far, of this value and its clones, except those for something in a
    /// directory that another pattern leaves out.
    #[must_use]
    pub fn unmatched(&self) -> Vec<Unmatched> {
        let path = |pattern: &'_ Pattern| format!("{}/", pattern.text.trim_matches('/'));
        let above: Vec<String> = self.excluded.all().map(path).collect();
        let is_below = |pattern: &Pattern| {
            let path = path(pattern);
            above.iter().any(|above| path.starts_with(above) && path != *above)
        };
        let excluded = self.excluded.all().filter(|pattern| !is_below(pattern));
        let excluded = excluded.map(|pattern| (Role::Exclusion, pattern));
        let included = self.included.all().map(|pattern| (Role::Inclusion, pattern));
        let unmatched = excluded.chain(included).filter(|(_, pattern)| !pattern.has_matched());
        unmatched.map(|(role, pattern)| Unmatched::new(role, &pattern.text)).collect()
    }
}

impl Unmatched {
    /// A pattern that matched nothing.
    #[must_use]
    pub fn new(role: Role, pattern: &str) -> Self {
        Self { role, pattern: pattern.to_owned(), meant: None }
    }
}

/// The pattern of an exception, which follows a `!`; a group may begin with one, too.
fn exception(pattern: &str) -> Option<&str> {
    pattern.strip_prefix('!').filter(|rest| !rest.starts_with('('))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ere::RegexError, patterns::PatternError};

    fn unmatched(excludes: &Excludes) -> Vec<String> {
        excludes.unmatched().into_iter().map(|unmatched| unmatched.pattern).collect()
    }

    #[test]
    fn exceptions_are_taken_from_what_is_left_out() {
        let patterns = ["/doc", "*.gz", "!/doc/*/copyright", "!keep", "!(a|b).tmp"];
        let excludes = Excludes::new(patterns).unwrap();
        assert!(excludes.has_exceptions());
        for (path, expected) in [
            ("doc", true),
            ("doc/x/readme", true),
            ("doc/x/copyright", false),
            ("doc/keep/all", false),
            ("doc/keep/all.gz", true),
            ("other", false),
            ("c.tmp", true),
            ("a.tmp", false),
        ] {
            assert_eq!(excludes.covers(path.as_bytes()), expected, "{path}");
        }
    }

    #[test]
    fn patterns_that_match_nothing_are_known() {
        let patterns = ["*.o", "/usr", "/usr/share/doc", "src/sub", "!*.h", "@(x|y)"];
        let mut excludes = Excludes::new(patterns).unwrap();
        excludes.add_path(b"exact");
        excludes.add_regex(b"[0-9]$").unwrap();
        for name in [&b"usr"[..], b"a.h", b"b9", b"y"] {
            let _marked = excludes.clone().verdict(b"", name);
        }
        assert_eq!(unmatched(&excludes), ["*.o", "src/sub", "exact"]);
        let _marked = excludes.verdict(b"src", b"sub");
        assert_eq!(unmatched(&excludes), ["*.o", "exact"]);
        let [first, _] = &*excludes.unmatched() else { panic!("two") };
        assert_eq!(first.to_string(), "the exclusion *.o matches nothing");
    }

    #[test]
    fn patterns_without_a_slash_match_anywhere_and_others_from_the_root() {
        let excludes =
            Excludes::new(["*.o", "/top", "a/*/c", "deep/**", "dir/", "./dot/x"]).unwrap();
        let cases: [(&[u8], &[u8], bool); 14] = [
            (b"", b"x.o", true),
            (b"a/b", b"x.o", true),
            (b"", b"x.oo", false),
            (b"", b"top", true),
            (b"a", b"top", false),
            (b"a/b", b"c", true),
            (b"a/b/b", b"c", false),
            (b"", b"deep", false),
            (b"deep", b"x", true),
            (b"deep/x", b"y", true),
            (b"q", b"dir", true),
            (b"dot", b"x", true),
            (b"q/dot", b"x", false),
            (b"", b"\xff.o", true),
        ];
        for (parent, name, expected) in cases {
            assert_eq!(
                (excludes.verdict(parent, name) == Some(Verdict::Excluded)),
                expected,
                "{parent:?} {name:?}"
            );
        }
        assert!(Excludes::default().is_empty() && !excludes.is_empty());
    }

    #[test]
    fn files_below_an_excluded_directory_are_covered() {
        let excludes = Excludes::new(["*.d", "/usr/lib"]).unwrap();
        for (path, expected) in [
            ("a.d", true),
            ("etc/a.d/b/c", true),
            ("usr/lib", true),
            ("usr/lib/x", true),
            ("usr/lib64/x", false),
            ("opt/usr/lib/x", false),
            ("", false),
        ] {
            assert_eq!(excludes.covers(path.as_bytes()), expected, "{path}");
        }
    }

    #[test]
    fn literal_paths_and_expressions_match_from_the_root() {
        let mut excludes = Excludes::default();
        excludes.add_path(b"a/*");
        excludes.add_path(b"top");
        excludes.add_regex(b"^b/[[:digit:]]+$|\\.o$").unwrap();
        let cases: [(&[u8], &[u8], bool); 8] = [
            (b"a", b"*", true),
            (b"a", b"x", false),
            (b"", b"top", true),
            (b"q", b"top", false),
            (b"b", b"12", true),
            (b"q/b", b"12", false),
            (b"q", b"\xff.o", true),
            (b"x.o", b"y", false),
        ];
        for (parent, name, expected) in cases {
            assert_eq!(
                (excludes.verdict(parent, name) == Some(Verdict::Excluded)),
                expected,
                "{parent:?} {name:?}"
            );
        }
        assert!(excludes.covers(b"x.o/y") && excludes.covers(b"top/x/y"));
        assert!(!excludes.covers(b"q/top") && !excludes.is_empty());
    }

    #[test]
    fn an_invalid_pattern_is_named() {
        let error = Excludes::new(["ok", "a[b"]).unwrap_err();
        assert_eq!(error.pattern, "a[b");
        let error = Excludes::default().add_regex(b"(a").unwrap_err();
        assert_eq!(error.source, PatternError::Regex(RegexError::OpenGroup));
    }
}
