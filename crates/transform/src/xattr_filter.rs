//! Defines [`XattrFilter`], which chooses the extended attributes that are kept.

use lith_tree::{Tree, XattrSet};

use crate::patterns::{ExcludeError, Patterns};

/// Which extended attributes are kept: those that match an included pattern, if there are any, and no excluded one. The
/// patterns are globs for whole names, such as `user.*`.
#[derive(Clone, Debug, Default)]
pub struct XattrFilter {
    included: Patterns,
    excluded: Patterns,
}

impl XattrFilter {
    /// Compiles the patterns.
    ///
    /// # Errors
    /// [`ExcludeError`] names the first invalid one.
    pub fn new(included: &[String], excluded: &[String]) -> Result<Self, ExcludeError> {
        Ok(Self { included: Patterns::globs(included)?, excluded: Patterns::globs(excluded)? })
    }

    fn keeps(&self, name: &[u8]) -> bool {
        let is_included = self.included.is_empty() || self.included.matches(name, name);
        is_included && !self.excluded.matches(name, name)
    }

    /// Removes all other attributes from the files of `tree`.
    pub fn apply(&self, tree: &mut Tree) {
        if self.included.is_empty() && self.excluded.is_empty() {
            return;
        }
        let sets: Vec<_> = tree.xattrs.sets().map(<[_]>::to_vec).collect();
        let kept: Vec<XattrSet> = sets
            .into_iter()
            .map(|mut set| {
                set.retain(|xattr| self.keeps(&xattr.name));
                tree.xattrs.intern(set)
            })
            .collect();
        for inode in tree.inodes_mut() {
            let xattrs = &mut inode.metadata.xattrs;
            *xattrs = kept.get(xattrs.index()).copied().unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use lith_tree::{InodeIndex, Metadata};

    use super::*;

    #[test]
    fn names_that_are_included_and_not_excluded_are_kept() {
        for (included, excluded, expected) in [
            (&[][..], &[][..], &["security.selinux", "user.a", "user.b"][..]),
            (&["user.*"], &[], &["user.a", "user.b"]),
            (&[], &["user.*", "trusted.*"], &["security.selinux"]),
            (&["user.*"], &["*.b"], &["user.a"]),
        ] {
            let mut tree = Tree::new(Metadata::default());
            for name in ["user.b", "user.a", "security.selinux"] {
                tree.add_xattr(InodeIndex::ROOT, name.as_bytes(), b"x");
            }
            let text = |patterns: &[&str]| -> Vec<String> {
                patterns.iter().map(ToString::to_string).collect()
            };
            XattrFilter::new(&text(included), &text(excluded)).unwrap().apply(&mut tree);
            let set = tree.xattrs.get(tree.get(InodeIndex::ROOT).metadata.xattrs);
            let names: Vec<_> =
                set.iter().map(|xattr| str::from_utf8(&xattr.name).unwrap()).collect();
            assert_eq!(names, expected, "{included:?} {excluded:?}");
        }
    }
}
