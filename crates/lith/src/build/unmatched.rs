//! Which patterns of a build match no file?

use std::{
    fs,
    path::{Path, PathBuf},
};

use lith_builder::Rule;
use lith_transform::{Role, Unmatched};
use lith_tree::{Kind, Tree};

/// The rules that apply to no file of a tree.
pub(super) fn unmatched_rules(tree: &Tree, rules: &[Rule]) -> Vec<Unmatched> {
    let mut left: Vec<Option<&str>> = rules.iter().map(|rule| rule.files.pattern()).collect();
    for visit in tree.walk() {
        if left.iter().all(Option::is_none) {
            break;
        }
        if !matches!(tree.get(visit.inode).kind, Kind::Regular { .. }) {
            continue;
        }
        let path = tree.path(visit.inode);
        let first = rules.iter().position(|rule| rule.files.includes(&path));
        if let Some(pattern) = first.and_then(|first| left.get_mut(first)) {
            *pattern = None;
        }
    }
    left.into_iter().flatten().map(|pattern| Unmatched::new(Role::Rule, pattern)).collect()
}

/// Adds what patterns presumably mean that start with the path of a source, as those of mksquashfs may.
pub(super) fn add_meanings(unmatched: &mut [Unmatched], sources: &[PathBuf]) {
    for unmatched in unmatched {
        unmatched.meant = sources.iter().find_map(|source| meant(&unmatched.pattern, source));
    }
}

fn meant(pattern: &str, source: &Path) -> Option<String> {
    let real = fs::canonicalize(source).ok()?;
    let own_name = real.file_name().unwrap_or_default();
    let beginnings = [source.as_os_str(), real.as_os_str(), own_name];
    beginnings.into_iter().find_map(|beginning| {
        let beginning = beginning.to_str()?.trim_start_matches("./").trim_end_matches('/');
        let rest = pattern.trim_start_matches("./").strip_prefix(beginning)?.strip_prefix('/')?;
        (!beginning.is_empty() && !rest.is_empty()).then(|| format!("/{rest}"))
    })
}

#[cfg(test)]
mod tests {
    use lith_builder::Files;
    use lith_tree::{InodeIndex, Metadata, Name};

    use super::*;

    #[test]
    fn a_rule_after_others_for_all_its_files_matches_nothing() {
        let mut tree = Tree::new(Metadata::default());
        for name in [&b"a.o"[..], b"b.c"] {
            let kind = Kind::Regular { size: 1 };
            let name = Name::new(name).unwrap();
            tree.add(InodeIndex::ROOT, name, Metadata::default(), kind).unwrap();
        }
        let rule = |pattern: &'static str| Rule {
            files: Files::new(|path| path.ends_with(pattern.as_bytes())).named(pattern),
            compression: None,
            second: None,
        };
        let rules = [".o", "a.o", ".h", "c"].map(rule);
        let found = unmatched_rules(&tree, &rules);
        let found: Vec<_> = found.into_iter().map(|unmatched| unmatched.pattern).collect();
        assert_eq!(found, ["a.o", ".h"]);
    }

    #[test]
    fn patterns_that_start_with_the_source_are_understood() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("src");
        fs::create_dir(&source).unwrap();
        let real = fs::canonicalize(&source).unwrap();
        let absolute = format!("{}/sub", real.display());
        for (pattern, expected) in [
            (&*absolute, Some("/sub")),
            ("src/sub/*.o", Some("/sub/*.o")),
            ("./src/sub", Some("/sub")),
            ("src", None),
            ("sub", None),
            ("srcs/sub", None),
        ] {
            assert_eq!(meant(pattern, &source).as_deref(), expected, "{pattern}");
        }
    }
}
