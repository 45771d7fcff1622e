//! Defines [`Patterns`]: globs, paths and regular expressions, and which of them have matched.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::{
    ere::{ExtendedRegex, RegexError},
    extglob::{ExtendedGlob, GroupError},
};

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
    /// It has an invalid group.
    #[error(transparent)]
    Group(GroupError),
    /// It is not a valid extended regular expression.
    #[error(transparent)]
    Regex(RegexError),
}

/// A pattern's text, and whether it has matched. Clones share that.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(crate) text: String,
    matched: Arc<AtomicBool>,
}

/// Patterns for names anywhere, and for paths from the root.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patterns {
    names: Globs,
    paths: Globs,
    exact: BTreeMap<Box<[u8]>, Pattern>,
    expressions: Vec<(ExtendedRegex, Pattern)>,
}

/// Globs for texts of one kind.
#[derive(Clone, Debug, Default)]
struct Globs {
    set: GlobSet,
    /// Those of the set, in its order.
    plain: Vec<Pattern>,
    extended: Vec<(ExtendedGlob, Pattern)>,
}

impl Pattern {
    fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), matched: Arc::default() }
    }

    pub(crate) fn has_matched(&self) -> bool {
        self.matched.load(Ordering::Relaxed)
    }

    fn mark(&self) {
        self.matched.store(true, Ordering::Relaxed);
    }
}

impl Patterns {
    pub(crate) fn globs(patterns: &[String]) -> Result<Self, ExcludeError> {
        let has_slash = |pattern: &&String| pattern.trim_end_matches('/').contains('/');
        let (paths, names): (Vec<&String>, Vec<&String>) = patterns.iter().partition(has_slash);
        Ok(Self { names: Globs::new(&names)?, paths: Globs::new(&paths)?, ..Self::default() })
    }

    pub(crate) fn add_path(&mut self, path: &[u8]) {
        self.exact.insert(path.into(), Pattern::new(String::from_utf8_lossy(path)));
    }

    pub(crate) fn add_regex(&mut self, pattern: &[u8]) -> Result<(), ExcludeError> {
        let text = String::from_utf8_lossy(pattern);
        let expression = ExtendedRegex::new(pattern)
            .map_err(|source| ExcludeError::new(&text, PatternError::Regex(source)))?;
        self.expressions.push((expression, Pattern::new(text)));
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty() && !self.has_paths()
    }

    /// Whether a path makes a difference, and not only its last name.
    pub(crate) fn has_paths(&self) -> bool {
        !(self.paths.is_empty() && self.exact.is_empty() && self.expressions.is_empty())
    }

    /// Whether a pattern matches `name`, the last one of `path`. All that do are marked.
    pub(crate) fn matches(&self, path: &[u8], name: &[u8]) -> bool {
        let mut is_match = self.names.matches(name);
        if self.has_paths() {
            is_match |= self.paths.matches(path);
            is_match |= self.exact.get(path).inspect(|pattern| pattern.mark()).is_some();
            for (expression, pattern) in &self.expressions {
                if expression.is_match(path) {
                    pattern.mark();
                    is_match = true;
                }
            }
        }
        is_match
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Pattern> {
        let globs = self.names.all().chain(self.paths.all());
        let expressions = self.expressions.iter().map(|(_, pattern)| pattern);
        globs.chain(self.exact.values()).chain(expressions)
    }
}

impl Globs {
    fn new(patterns: &[&String]) -> Result<Self, ExcludeError> {
        let (mut set, mut plain, mut extended) = (GlobSetBuilder::new(), Vec::new(), Vec::new());
        for text in patterns {
            let body = text.trim_end_matches('/').trim_start_matches("./").trim_start_matches('/');
            let pattern = Pattern::new(text.as_str());
            if ExtendedGlob::is_one(body) {
                let glob = ExtendedGlob::new(body);
                let glob = glob.map_err(|e| ExcludeError::new(text, PatternError::Group(e)))?;
                extended.push((glob, pattern));
                continue;
            }
            let glob = GlobBuilder::new(body).literal_separator(true).build();
            set.add(glob.map_err(|error| ExcludeError::new(text, PatternError::Glob(error)))?);
            plain.push(pattern);
        }
        let set = set.build().map_err(|error| {
            ExcludeError::new(error.glob().unwrap_or_default(), PatternError::Glob(error.clone()))
        })?;
        Ok(Self { set, plain, extended })
    }

    fn is_empty(&self) -> bool {
        self.plain.is_empty() && self.extended.is_empty()
    }

    fn matches(&self, text: &[u8]) -> bool {
        let candidate = || Candidate::new(lith_system::path(text));
        let mut is_match = !self.plain.is_empty() && self.set.is_match_candidate(&candidate());
        if is_match {
            let found = self.set.matches_candidate(&candidate());
            found.into_iter().filter_map(|at| self.plain.get(at)).for_each(Pattern::mark);
        }
        for (glob, pattern) in &self.extended {
            if glob.is_match(text) {
                pattern.mark();
                is_match = true;
            }
        }
        is_match
    }

    fn all(&self) -> impl Iterator<Item = &Pattern> {
        self.plain.iter().chain(self.extended.iter().map(|(_, pattern)| pattern))
    }
}

impl ExcludeError {
    fn new(pattern: &str, source: PatternError) -> Self {
        Self { pattern: pattern.to_owned(), source }
    }
}
