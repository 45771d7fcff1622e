//! Defines [`Hot`]: what a profile means for a tree.

use std::collections::HashSet;

use lith_builder::Order;
use lith_tree::{InodeIndex, Kind, Tree};

use crate::{
    earlier::Earlier,
    profile::{Access, Entry, Profile},
    sort::Priorities,
};

/// What says in which order an image is stored.
#[derive(Debug)]
pub enum Hint {
    /// What was used of a tree, in the order of its first use.
    Profile(Profile),
    /// Files that are read in this order.
    Paths(Vec<Vec<u8>>),
    /// Which files are stored before others, and which after them.
    Sort(Priorities),
    /// The order of an earlier image, for what is the same.
    Earlier(Earlier),
}

/// In which order an image of a tree is stored.
#[derive(Debug, Default)]
pub struct Hot {
    /// The order.
    pub order: Order,
    /// The paths of profiles and lists that the tree lacks, in their order.
    pub missing: Vec<Vec<u8>>,
}

impl Hot {
    /// What hints mean for a tree, those that come first before the others.
    #[must_use]
    pub fn new(hints: &[Hint], tree: &Tree) -> Self {
        let mut hot = Self::default();
        for hint in hints {
            match hint {
                Hint::Profile(profile) => hot.extend(Self::of_profile(profile, tree)),
                Hint::Paths(paths) => hot.extend(Self::of_paths(paths, tree)),
                Hint::Sort(priorities) => {
                    let (first, last) = priorities.sort(tree);
                    hot.order.first.extend(first);
                    hot.order.last.extend(last);
                }
                Hint::Earlier(earlier) => {
                    hot.order.first.extend(earlier.files(tree));
                    hot.order.packed = earlier.packed().clone();
                }
            }
        }
        hot
    }

    /// What a profile means. Inodes and directories that lead to what is used count as used.
    fn of_profile(profile: &Profile, tree: &Tree) -> Self {
        let mut hot = Self::default();
        let (mut found, mut missing) = (HashSet::new(), HashSet::new());
        for Entry { path, access, .. } in profile.entries() {
            let Some(inode) = hot.find(tree, path, &mut found) else {
                if missing.insert(path) {
                    hot.missing.push(path.clone());
                }
                continue;
            };
            let is_file = matches!(tree.get(inode).kind, Kind::Regular { .. });
            if let Access::Read { start, end } = *access
                && is_file
            {
                hot.order.ranges.push((inode, start..end));
            }
        }
        hot
    }

    /// What it means that whole files are read in an order.
    fn of_paths(paths: &[Vec<u8>], tree: &Tree) -> Self {
        let entry = |(path, order): (&Vec<u8>, u64)| Entry {
            path: path.clone(),
            access: Access::Read { start: 0, end: u64::MAX },
            order,
            count: 1,
        };
        Self::of_profile(&Profile::new(paths.iter().zip(1..).map(entry)), tree)
    }

    fn extend(&mut self, other: Self) {
        self.order.ranges.extend(other.order.ranges);
        self.order.inodes.extend(other.order.inodes);
        self.missing.extend(other.missing);
    }

    /// Finds a path, and notes the inodes on it that are not yet in `found`.
    fn find(
        &mut self,
        tree: &Tree,
        path: &[u8],
        found: &mut HashSet<InodeIndex>,
    ) -> Option<InodeIndex> {
        tree.find(path)?;
        let mut at = InodeIndex::ROOT;
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            at = tree.get(at).as_directory()?.get(name)?;
            if found.insert(at) {
                self.order.inodes.push(at);
            }
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use lith_tree::{Metadata, Name};

    use super::*;

    #[test]
    fn what_leads_to_a_file_is_used_and_what_is_missing_named() {
        let mut tree = Tree::new(Metadata::default());
        let name = |name: &str| Name::new(name.as_bytes()).unwrap();
        let directory =
            tree.add(InodeIndex::ROOT, name("d"), Metadata::default(), Kind::directory()).unwrap();
        let size = Kind::Regular { size: 100 };
        let file = tree.add(directory, name("f"), Metadata::default(), size).unwrap();
        let text = "lith-profile 1\nread /d/f 5+10 1 1\nlookup /d/x - 2 1\nlist /d - 3 1\n\
            read /d 0+1 4 1\nlist /d/x - 5 1\nread /d/f 90+50 6 1\n";
        let profile = Profile::read(text.as_bytes()).unwrap();
        let hot = Hot::new(&[Hint::Profile(profile)], &tree);
        assert_eq!(hot.order.ranges, [(file, 5..15), (file, 90..140)]);
        assert_eq!(hot.order.inodes, [directory, file]);
        assert_eq!(hot.missing, [b"d/x"]);
        let paths = Hint::Paths(vec![b"d/f".to_vec(), b"y".to_vec()]);
        let hot = Hot::new(&[paths], &tree);
        assert_eq!(hot.order.ranges, [(file, 0..u64::MAX)]);
        assert_eq!(hot.missing, [b"y"]);
    }
}
