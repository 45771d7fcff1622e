//! Which suites are there? Lists them, and makes those that are requested.

mod build;
mod erofs;
mod gentle;
mod paper;
mod presets;
mod profiles;
mod read;
mod scale;
mod shared;
mod start;
mod updates;
mod whole;

use anyhow::Context;

use crate::{corpus::Names, suite::Suite};

type Make = fn(&Names) -> Suite;

/// All suites: those that repeat published comparisons, then those with targets for lith.
const ALL: [(&str, Make); 21] = [
    ("erofs", erofs::suite),
    ("paper", paper::suite),
    ("gentle", gentle::suite),
    ("start", start::suite),
    ("profiles", profiles::suite),
    ("build", build::build),
    ("large", build::large),
    ("pack", build::pack),
    ("smallest", build::smallest),
    ("squash", build::squash),
    ("presets", presets::suite),
    ("scale", scale::suite),
    ("updates", updates::suite),
    ("check", whole::check),
    ("extract", whole::extract),
    ("seq", read::sequential),
    ("tar", read::tar),
    ("random", read::random),
    ("metadata", read::metadata),
    ("amplification", read::amplification),
    ("ways", read::ways),
];
/// How many of them repeat what others have published.
const PUBLISHED: usize = 4;

/// The requested suites, or if none is named the published ones.
pub(crate) fn chosen(names: &[String], corpora: &Names) -> anyhow::Result<Vec<Suite>> {
    let make = |name: &String| {
        let found = ALL.iter().find(|(known, _)| known == name);
        found.map(|(_, make)| make(corpora)).with_context(|| {
            let known = ALL.map(|(known, _)| known).join(", ");
            format!("no suite is called {name:?}; there are {known}")
        })
    };
    if names.is_empty() {
        return Ok(ALL.iter().take(PUBLISHED).map(|(_, make)| make(corpora)).collect());
    }
    names.iter().map(make).collect()
}

pub(crate) fn list(corpora: &Names) -> Vec<(&'static str, &'static str)> {
    ALL.iter().map(|(name, make)| (*name, make(corpora).title)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::corpus::Corpora;

    fn all() -> Vec<Suite> {
        let names = ALL.map(|(name, _)| name.to_owned());
        chosen(&names, &Corpora::new("/".into(), Some("/usr".into()), "/".into()).names()).unwrap()
    }

    #[test]
    fn suites_and_tables_have_names_of_their_own() {
        for (suite, (name, _)) in all().iter().zip(ALL) {
            assert_eq!(suite.name, name);
            assert!(!suite.tables.is_empty(), "{name}");
            let tables: HashSet<_> = suite.tables.iter().map(|table| &table.name).collect();
            assert_eq!(tables.len(), suite.tables.len(), "{name}");
        }
        let error = chosen(&["none".into()], &Names::known()).unwrap_err().to_string();
        assert!(error.starts_with("no suite is called \"none\"; there are erofs, "), "{error}");
    }

    #[test]
    fn entries_are_told_apart_and_find_whom_they_are_compared_with() {
        for suite in all() {
            for table in suite.tables {
                let keys: HashSet<_> = table
                    .entries
                    .iter()
                    .map(|entry| (entry.series, entry.variant.clone()))
                    .collect();
                assert_eq!(keys.len(), table.entries.len(), "{} {}", suite.name, table.name);
                for entry in &table.entries {
                    let found = entry
                        .against
                        .is_none_or(|series| keys.contains(&(series, entry.variant.clone())));
                    assert!(found, "{} {}: {}", suite.name, table.name, entry.label());
                    let needs_other = entry.targets.iter().any(|target| target.relative);
                    assert!(
                        !needs_other || entry.against.is_some(),
                        "{} {}",
                        suite.name,
                        entry.label()
                    );
                }
            }
        }
    }
}
