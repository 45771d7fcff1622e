//! Defines [`Selection`], the part of a tree that is exported.

use std::collections::{HashMap, HashSet};

use lith_tree::{DisplayPath, InodeIndex, Kind, Name, Tree, Visit};

/// The whole tree, or chosen paths with everything below them and the directories above them.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    parts: Option<Parts>,
}

#[derive(Clone, Debug, Default)]
struct Parts {
    /// Chosen names by their directory.
    names: HashMap<InodeIndex, HashSet<Name>>,
    /// Directories above chosen names.
    above: HashSet<InodeIndex>,
}

/// A chosen path is not in the tree.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no {}; symbolic links in a path are not followed", DisplayPath(.0))]
pub struct NoSuchPath(pub Box<[u8]>);

impl Selection {
    /// The whole tree.
    #[must_use]
    pub const fn all() -> Self {
        Self { parts: None }
    }

    /// These paths of `tree`, each from the root, with or without a leading slash. The root's own path chooses the whole tree.
    ///
    /// # Errors
    /// [`NoSuchPath`] for the first one that the tree doesn't have.
    pub fn paths<'a>(
        tree: &Tree,
        paths: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Self, NoSuchPath> {
        let mut parts = Parts::default();
        for path in paths {
            let found = parts.choose(tree, path);
            if !found.ok_or_else(|| NoSuchPath(path.into()))? {
                return Ok(Self::all());
            }
        }
        Ok(Self { parts: Some(parts) })
    }

    /// The selected names in the order of [`Tree::walk`], each with whether it is chosen, not only above a chosen name.
    pub(crate) fn walk<'a>(&'a self, tree: &'a Tree) -> impl Iterator<Item = (Visit<'a>, bool)> {
        let mut inside = None;
        tree.walk().filter_map(move |visit| {
            let Some(parts) = &self.parts else {
                return Some((visit, true));
            };
            inside = inside.filter(|depth| visit.depth > *depth);
            if inside.is_some() {
                return Some((visit, true));
            }
            if parts.has_chosen(&visit) {
                inside = Some(visit.depth);
                return Some((visit, true));
            }
            parts.above.contains(&visit.inode).then_some((visit, false))
        })
    }

    /// Bytes of the selected regular files, holes included, those with several names once.
    pub(crate) fn content_bytes(&self, tree: &Tree) -> u64 {
        let mut linked = HashSet::new();
        let sizes = self.walk(tree).map(|(visit, _)| {
            let inode = tree.get(visit.inode);
            match inode.kind {
                Kind::Regular { size } if inode.nlink() < 2 || linked.insert(visit.inode) => size,
                _ => 0,
            }
        });
        sizes.fold(0, u64::saturating_add)
    }
}

impl Parts {
    /// Adds a path; `None` if the tree doesn't have it, false if it is the root's.
    fn choose(&mut self, tree: &Tree, path: &[u8]) -> Option<bool> {
        let mut above = Vec::new();
        let mut last = None;
        let mut at = InodeIndex::ROOT;
        for part in path.split(|byte| *byte == b'/') {
            if matches!(part, b"" | b".") {
                continue;
            }
            above.push(at);
            last = Some((at, Name::new(part).ok()?));
            at = tree.get(at).as_directory()?.get(part)?;
        }
        let Some((parent, name)) = last else {
            return Some(false);
        };
        self.above.extend(above);
        self.names.entry(parent).or_default().insert(name);
        Some(true)
    }

    fn has_chosen(&self, visit: &Visit<'_>) -> bool {
        let names = self.names.get(&visit.parent);
        names.zip(visit.name).is_some_and(|(names, name)| names.contains(name))
    }
}

#[cfg(test)]
mod tests {
    use lith_tree::Metadata;

    use super::*;

    fn sample() -> Tree {
        let mut tree = Tree::new(Metadata::default());
        for path in ["a", "a/b", "a/b/c", "a/d", "ab", "e"] {
            let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
            let parent = tree.find(parent.as_bytes()).unwrap();
            let name = Name::new(name.as_bytes()).unwrap();
            tree.add(parent, name, Metadata::default(), Kind::directory()).unwrap();
        }
        tree
    }

    fn selected(tree: &Tree, paths: &[&str]) -> Vec<String> {
        let paths = paths.iter().map(|path| path.as_bytes());
        let selection = Selection::paths(tree, paths).unwrap();
        let walk = selection.walk(tree);
        walk.map(|(visit, chosen)| {
            let path = String::from_utf8(tree.path(visit.inode)).unwrap();
            format!("{path}{}", if chosen { "!" } else { "" })
        })
        .collect()
    }

    #[test]
    fn selects_everything_below_and_the_directories_above() {
        let tree = sample();
        assert_eq!(selected(&tree, &["/a/b/"]), ["", "a", "a/b!", "a/b/c!"]);
        assert_eq!(selected(&tree, &["./e", "a/d"]), ["", "a", "a/d!", "e!"]);
        let overlapping = ["", "a!", "a/b!", "a/b/c!", "a/d!"];
        assert_eq!(selected(&tree, &["a/b", "a"]), overlapping);
        assert_eq!(selected(&tree, &["e", "/"]).len(), 7);
        assert_eq!(Selection::all().walk(&tree).count(), 7);
        assert_eq!(selected(&tree, &[]), [""; 0]);
    }

    #[test]
    fn a_missing_path_is_named() {
        let tree = sample();
        for bad in [&b"a/x"[..], b"..", b"a/../e", b"e/b/c", b"nul\0"] {
            let error = Selection::paths(&tree, [&b"a"[..], bad]).unwrap_err();
            assert_eq!(error, NoSuchPath(bad.into()));
        }
    }
}
