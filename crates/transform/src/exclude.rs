//! Defines [`Excludes`], the patterns of paths that a source leaves out.

use std::{collections::HashSet, ffi::OsStr, os::unix::ffi::OsStrExt};

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};
use lith_tree::{Name, push_name};

use crate::ere::{ExtendedRegex, RegexError};

/// Patterns of paths to leave out. An excluded directory is left out with everything in it.
///
/// In patterns `*`, `?` and `[...]` match inside one name, `**` across names, `{a,b}` either. A pattern without a slash matches
/// a name in any directory; one with a slash, also at its start, matches the path from the root. A trailing slash is
/// ignored.
#[derive(Clone, Debug, Default)]
pub struct Excludes {
    names: GlobSet,
    paths: GlobSet,
    exact: HashSet<Box<[u8]>>,
    expressions: Vec<ExtendedRegex>,
}

/// Why a pattern can't be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[error("cannot exclude by the pattern {pattern:?}")]
pub struct ExcludeError {
    /// The pattern.
    pub pattern: String,
    /// What is wrong with it.
    pub source: PatternError,
}

/// What is wrong with a pattern.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// It is not a valid glob.
    #[error(transparent)]
    Glob(globset::Error),
    /// It is not a valid extended regular expression.
    #[error(transparent)]
    Regex(RegexError),
}

impl Excludes {
    /// Compiles glob patterns.
    ///
    /// # Errors
    /// [`ExcludeError`] names the first invalid pattern.
    pub fn new<S: AsRef<str>>(patterns: impl IntoIterator<Item = S>) -> Result<Self, ExcludeError> {
        let (mut names, mut paths) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let body = pattern.trim_end_matches('/');
            let set = if body.contains('/') { &mut paths } else { &mut names };
            let body = body.trim_start_matches("./").trim_start_matches('/');
            let glob = GlobBuilder::new(body).literal_separator(true).build();
            set.add(glob.map_err(|source| ExcludeError::new(pattern, source))?);
        }
        Ok(Self { names: build(&names)?, paths: build(&paths)?, ..Self::default() })
    }

    /// Excludes one path, from the root and without a leading slash.
    pub fn add_path(&mut self, path: &[u8]) {
        self.exact.insert(path.into());
    }

    /// Excludes the paths, from the root and without a leading slash, in which a POSIX extended regular
    /// expression matches anywhere.
    ///
    /// # Errors
    /// [`ExcludeError`] if it is invalid.
    pub fn add_regex(&mut self, pattern: &[u8]) -> Result<(), ExcludeError> {
        let expression = ExtendedRegex::new(pattern).map_err(|source| ExcludeError {
            pattern: String::from_utf8_lossy(pattern).into_owned(),
            source: PatternError::Regex(source),
        })?;
        self.expressions.push(expression);
        Ok(())
    }

    /// Whether nothing is excluded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && !self.has_path_patterns()
    }

    fn has_path_patterns(&self) -> bool {
        !(self.paths.is_empty() && self.exact.is_empty() && self.expressions.is_empty())
    }

    fn excludes_path(&self, path: &[u8]) -> bool {
        matches(&self.paths, path)
            || self.exact.contains(path)
            || self.expressions.iter().any(|expression| expression.is_match(path))
    }

    /// Whether the file called `name` in the directory at `parent` (a path from the root without slashes
    /// at its ends) matches a pattern itself.
    #[must_use]
    pub fn excludes(&self, parent: &[u8], name: &[u8]) -> bool {
        matches(&self.names, name)
            || self.has_path_patterns() && {
                let mut path = Vec::with_capacity(parent.len() + 1 + Name::MAX);
                push_name(&mut path, parent);
                push_name(&mut path, name);
                self.excludes_path(&path)
            }
    }

    /// Whether the file at `path`, or a directory above it, matches a pattern itself.
    #[must_use]
    pub fn covers(&self, path: &[u8]) -> bool {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        ends.chain([path.len()]).any(|end| {
            let (path, _) = path.split_at(end);
            let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
            matches(&self.names, name) || self.excludes_path(path)
        })
    }
}

impl ExcludeError {
    fn new(pattern: &str, source: globset::Error) -> Self {
        Self { pattern: pattern.to_owned(), source: PatternError::Glob(source) }
    }
}

fn build(set: &GlobSetBuilder) -> Result<GlobSet, ExcludeError> {
    set.build().map_err(|source| {
        let pattern = source.glob().unwrap_or_default().to_owned();
        ExcludeError::new(&pattern, source)
    })
}

fn matches(set: &GlobSet, path: &[u8]) -> bool {
    !set.is_empty() && set.is_match_candidate(&Candidate::new(OsStr::from_bytes(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(excludes.excludes(parent, name), expected, "{parent:?} {name:?}");
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
            assert_eq!(excludes.excludes(parent, name), expected, "{parent:?} {name:?}");
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
