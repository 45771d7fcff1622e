//! Defines [`XattrPool`], the sets of extended attributes of a tree, each stored once for all files that have it.

use std::collections::HashMap;
use std::sync::Arc;

/// One extended attribute: its whole name (`user.note`) and its value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Xattr {
    /// With its namespace, without a NUL at the end.
    pub name: Box<[u8]>,
    /// Opaque bytes; ACLs in the form that Linux' `getxattr` gives.
    pub value: Box<[u8]>,
}

/// A set of extended attributes in a tree's [`XattrPool`]; the default is the empty set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct XattrSet(u32);

impl XattrSet {
    /// The set without any attribute.
    pub const EMPTY: Self = Self(0);

    /// The set's number in its pool, in order of first use.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// All different sets of extended attributes of a tree.
#[derive(Clone, Debug)]
pub struct XattrPool {
    sets: Vec<Arc<[Xattr]>>,
    numbers: HashMap<Arc<[Xattr]>, u32>,
}

impl Default for XattrPool {
    fn default() -> Self {
        let empty: Arc<[Xattr]> = Arc::new([]);
        Self { sets: vec![Arc::clone(&empty)], numbers: HashMap::from([(empty, 0)]) }
    }
}

impl XattrPool {
    /// The set of these attributes, which may be in any order; of two with one name the later counts.
    ///
    /// # Panics
    /// If there are more than 2³² different sets, which take more memory than any machine has.
    pub fn intern(&mut self, mut xattrs: Vec<Xattr>) -> XattrSet {
        xattrs.reverse();
        xattrs.sort_by(|a, b| a.name.cmp(&b.name));
        xattrs.dedup_by(|later, first| later.name == first.name);
        let set: Arc<[Xattr]> = xattrs.into();
        if let Some(number) = self.numbers.get(&set) {
            return XattrSet(*number);
        }
        let number = u32::try_from(self.sets.len()).expect("fewer than 2³² sets fit in memory");
        self.sets.push(Arc::clone(&set));
        self.numbers.insert(set, number);
        XattrSet(number)
    }

    /// The attributes of a set, in ascending order of their names' bytes.
    #[must_use]
    pub fn get(&self, set: XattrSet) -> &[Xattr] {
        self.sets.get(set.index()).map_or(&[], |set| set)
    }

    /// All sets in ascending order of their numbers.
    #[must_use]
    pub fn sets(&self) -> impl ExactSizeIterator<Item = &[Xattr]> {
        self.sets.iter().map(|set| &**set)
    }

    /// The number of different sets, the empty one included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sets.len()
    }

    /// Whether there is only the empty set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn xattr(name: &str, value: &str) -> Xattr {
        Xattr { name: name.as_bytes().into(), value: value.as_bytes().into() }
    }

    #[test]
    fn equal_sets_have_one_number_in_any_order() {
        let mut pool = XattrPool::default();
        let one = pool.intern(vec![xattr("user.b", "2"), xattr("user.a", "1")]);
        let two = pool.intern(vec![xattr("user.a", "1"), xattr("user.b", "2")]);
        assert_eq!(one, two);
        assert_eq!(pool.get(one).first(), Some(&xattr("user.a", "1")));
        assert_eq!(pool.intern(vec![]), XattrSet::EMPTY);
        assert_eq!(pool.len(), 2);
    }

    #[test]
    fn the_later_of_two_values_counts() {
        let mut pool = XattrPool::default();
        let set = pool.intern(vec![xattr("user.a", "old"), xattr("user.a", "new")]);
        assert_eq!(pool.get(set), [xattr("user.a", "new")]);
    }
}
