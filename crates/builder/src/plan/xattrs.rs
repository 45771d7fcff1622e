//! Defines [`XattrPlan`]: which extended attributes are shared, and which are stored beside their inode.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};

use lith_format::xattr::{
    self, BODY_HEADER_SIZE, ENTRY_HEADER_SIZE, Entry, NAME_REST_MAX, XattrError,
};
use lith_tree::{InodeIndex, Tree, Xattr, XattrPool, XattrSet};

use super::prefixes::{Prefixes, Spelling};
use crate::{BuildError, Options};

/// The most shared attributes that an inode can refer to.
const MOST_SHARED: usize = 255;
/// The most that one refers to in an image of composefs.
const MOST_SHARED_BY_COMPOSEFS: usize = 128;

/// Where the attributes of one set are stored.
#[derive(Debug, Default)]
struct SetPlan {
    /// Positions of shared entries in the shared area.
    shared: Vec<u32>,
    /// Positions of the others in the set.
    inline: Vec<usize>,
    filter: u32,
    /// Bytes of the body that follows an inode.
    size: usize,
}

/// Where all extended attributes are stored.
#[derive(Debug, Default)]
pub(crate) struct XattrPlan {
    sets: Vec<SetPlan>,
    /// The least bytes of the root's body.
    root_size: usize,
    /// The long prefixes of names.
    pub(crate) prefixes: Prefixes,
    /// The shared entries back to back.
    pub(crate) shared_area: Vec<u8>,
    /// How many shared entries there are.
    pub(crate) shared_count: u64,
}

impl XattrPlan {
    /// Plans the attributes of all inodes in `order`.
    pub(crate) fn new(
        tree: &Tree,
        order: &[InodeIndex],
        options: &Options,
    ) -> Result<Self, BuildError> {
        let pool = &tree.xattrs;
        let users = users_of_sets(tree, order);
        let shared = shared_attributes(pool, &users, options.attributes.share_xattrs);
        let names = users.iter().flatten().flat_map(|users| pool.get(users.set));
        let (asked, digest) =
            (&options.attributes.xattr_prefixes, options.attributes.digest_xattr.as_deref());
        let prefixes = Prefixes::of(asked, digest, names.map(|xattr| &*xattr.name));
        let mut plan = Self {
            root_size: root_size(options.attributes.root_xattr_size),
            ..Self::of_sets(tree, &users, (shared, MOST_SHARED), prefixes)?
        };
        if !options.attributes.xattr_filter {
            plan.sets.iter_mut().for_each(|set| set.filter = 0);
        }
        Ok(plan)
    }

    /// Plans the attributes of all inodes in `order` as composefs stores them.
    pub(crate) fn of_composefs(tree: &Tree, order: &[InodeIndex]) -> Result<Self, BuildError> {
        let users = users_of_sets(tree, order);
        let shared = shared_attributes(&tree.xattrs, &users, Some(1));
        let mut shared: Vec<_> = shared.into_iter().collect();
        // Names descend, and of one name longer values precede shorter ones.
        shared.sort_unstable_by_key(|(xattr, _)| {
            Reverse((&xattr.name, xattr.value.len(), &xattr.value))
        });
        Self::of_sets(tree, &users, (shared, MOST_SHARED_BY_COMPOSEFS), Prefixes::default())
    }

    /// Plans the attributes of all sets that have users. An inode refers to no more than `most` of the `shared` ones.
    fn of_sets<'a>(
        tree: &'a Tree,
        users: &[Option<Users>],
        (shared, most): (impl IntoIterator<Item = (&'a Xattr, InodeIndex)>, usize),
        prefixes: Prefixes,
    ) -> Result<Self, BuildError> {
        let mut plan = Self { prefixes, ..Self::default() };
        let mut positions = HashMap::new();
        for (attribute, user) in shared {
            positions.insert(attribute, plan.share(tree, attribute, user)?);
        }
        for (set, user) in users.iter().enumerate() {
            plan.sets.push(match user {
                Some(users) => plan_set(tree, users, (&positions, most), &plan.prefixes)?,
                None => SetPlan::default(),
            });
            debug_assert_eq!(plan.sets.len(), set + 1, "one plan for each set");
        }
        Ok(plan)
    }

    fn share(&mut self, tree: &Tree, xattr: &Xattr, user: InodeIndex) -> Result<u32, BuildError> {
        let position = u32::try_from(self.shared_area.len());
        let Ok(position) = position else {
            return Err(refused(tree, user, &xattr.name, "is beyond 4 GiB of shared ones"));
        };
        entry_of(xattr, &self.prefixes)
            .and_then(|entry| entry.encode_into(&mut self.shared_area).map_err(problem_of))
            .map_err(|problem| refused(tree, user, &xattr.name, problem))?;
        self.shared_count += 1;
        Ok(position)
    }

    /// Whether any inode has an attribute.
    pub(crate) fn is_used(&self) -> bool {
        self.sets.iter().any(|set| set.size > 0)
    }

    /// Bytes that follow an inode with this set.
    pub(crate) fn body_size(&self, inode: InodeIndex, set: XattrSet) -> usize {
        let size = self.sets.get(set.index()).map_or(0, |set| set.size);
        if inode == InodeIndex::ROOT { size.max(self.root_size) } else { size }
    }

    /// The body of each set, for a shared area whose first entry has the id `first_id`.
    pub(crate) fn encode(
        &self,
        pool: &XattrPool,
        first_id: u32,
    ) -> Result<Vec<Vec<u8>>, XattrError> {
        let sets = pool.sets().zip(&self.sets);
        sets.map(|(set, plan)| plan.encode(set, &self.prefixes, first_id)).collect()
    }
}

impl SetPlan {
    fn encode(
        &self,
        set: &[Xattr],
        prefixes: &Prefixes,
        first_id: u32,
    ) -> Result<Vec<u8>, XattrError> {
        let ids: Vec<u32> = self.shared.iter().map(|at| first_id + at / 4).collect();
        let inline = self.inline.iter().filter_map(|at| set.get(*at));
        let inline: Vec<_> = inline.filter_map(|xattr| entry_of(xattr, prefixes).ok()).collect();
        let mut body = Vec::with_capacity(self.size);
        xattr::encode_body(self.filter, &ids, &inline, &mut body)?;
        Ok(body)
    }
}

/// The inodes that have a set: one of them, and how many.
#[derive(Clone, Copy, Debug)]
struct Users {
    set: XattrSet,
    first: InodeIndex,
    count: u32,
}

/// For each set of the pool, who has it.
fn users_of_sets(tree: &Tree, order: &[InodeIndex]) -> Vec<Option<Users>> {
    let mut users = vec![None; tree.xattrs.len()];
    for inode in order {
        let set = tree.get(*inode).metadata.xattrs;
        if let Some(users) = users.get_mut(set.index()) {
            users.get_or_insert(Users { set, first: *inode, count: 0 }).count += 1;
        }
    }
    users
}

/// The attributes that are worth sharing in the order of their bytes, each with one inode that has it.
fn shared_attributes<'a>(
    pool: &'a XattrPool,
    users: &[Option<Users>],
    most_copies: Option<u32>,
) -> BTreeMap<&'a Xattr, InodeIndex> {
    let Some(most_copies) = most_copies else { return BTreeMap::new() };
    let mut counts: BTreeMap<&Xattr, (InodeIndex, u32)> = BTreeMap::new();
    for users in users.iter().flatten() {
        for xattr in pool.get(users.set) {
            counts.entry(xattr).or_insert((users.first, 0)).1 += users.count;
        }
    }
    counts.retain(|_, (_, count)| *count > most_copies);
    counts.into_iter().map(|(xattr, (inode, _))| (xattr, inode)).collect()
}

/// The size of a body that reserves `requested` bytes: a header is always followed by something.
const fn root_size(requested: usize) -> usize {
    let least = BODY_HEADER_SIZE + ENTRY_HEADER_SIZE;
    match requested.next_multiple_of(4) {
        0 => 0,
        size if size < least => least,
        size => size,
    }
}

fn plan_set(
    tree: &Tree,
    users: &Users,
    (positions, most): (&HashMap<&Xattr, u32>, usize),
    prefixes: &Prefixes,
) -> Result<SetPlan, BuildError> {
    let xattrs = tree.xattrs.get(users.set);
    let mut plan = SetPlan { filter: u32::MAX, ..SetPlan::default() };
    let mut inline_size = 0;
    for (at, xattr) in xattrs.iter().enumerate() {
        let refuse = |problem| refused(tree, users.first, &xattr.name, problem);
        let spelling = prefixes.spell(&xattr.name).ok_or_else(|| refuse(NO_FORM))?;
        plan.filter &= !spelling.name.filter_bit();
        match positions.get(xattr) {
            Some(position) if plan.shared.len() < most => plan.shared.push(*position),
            _ => {
                let entry = entry_of(xattr, prefixes).map_err(refuse)?;
                entry.encode_into(&mut Vec::new()).map_err(|error| refuse(problem_of(error)))?;
                inline_size += entry.size();
                plan.inline.push(at);
            }
        }
        plan.size = xattr::body_size(plan.shared.len(), inline_size)
            .map_err(|error| refuse(problem_of(error)))?;
    }
    Ok(plan)
}

fn entry_of<'a>(xattr: &'a Xattr, prefixes: &'a Prefixes) -> Result<Entry<'a>, &'static str> {
    let Spelling { index, name } = prefixes.spell(&xattr.name).ok_or(NO_FORM)?;
    // After a long prefix there would be room for a name that Linux can't ask for.
    let length = name.infix.len() + name.rest.len();
    if length > NAME_REST_MAX {
        return Err(problem_of(XattrError::NameTooLong { length }));
    }
    Ok(Entry { index, rest: name.rest, value: &xattr.value })
}

const NO_FORM: &str = "has a namespace that EROFS cannot hold";

fn problem_of(error: XattrError) -> &'static str {
    match error {
        XattrError::NameTooLong { .. } => "has a name of more than 255 bytes",
        XattrError::ValueTooLong { .. } => "has a value of more than 65,535 bytes",
        _ => "makes the file's attributes exceed 256 KiB",
    }
}

fn refused(tree: &Tree, inode: InodeIndex, name: &[u8], problem: &'static str) -> BuildError {
    BuildError::Xattr { path: tree.path(inode), name: name.to_vec(), problem }
}

#[cfg(test)]
mod tests {
    use lith_tree::{Kind, Metadata, Name};

    use super::*;

    fn tree_with(sets: &[&[(&str, &[u8])]]) -> (Tree, Vec<InodeIndex>) {
        let mut tree = Tree::new(Metadata::default());
        let mut order = vec![InodeIndex::ROOT];
        for (number, set) in sets.iter().enumerate() {
            let xattr = |(name, value): &(&str, &[u8])| Xattr {
                name: name.as_bytes().into(),
                value: (*value).into(),
            };
            let xattrs = tree.xattrs.intern(set.iter().map(xattr).collect());
            let metadata = Metadata { xattrs, ..Metadata::default() };
            let name = Name::new(number.to_string().as_bytes()).unwrap();
            order.push(tree.add(InodeIndex::ROOT, name, metadata, Kind::Fifo).unwrap());
        }
        (tree, order)
    }

    #[test]
    fn what_three_inodes_have_is_shared() {
        let label: (&str, &[u8]) = ("security.selinux", b"system_u:object_r:bin_t:s0\0");
        let own: (&str, &[u8]) = ("user.own", b"1");
        let (tree, order) = tree_with(&[&[label], &[label, own], &[own, label]]);
        let plan = XattrPlan::new(&tree, &order, &Options::uncompressed()).unwrap();
        assert_eq!(plan.shared_count, 1);
        let sizes: Vec<_> =
            order.iter().map(|i| plan.body_size(*i, tree.get(*i).metadata.xattrs)).collect();
        assert_eq!(sizes, [0, 16, 24, 24]);
        for body in plan.encode(&tree.xattrs, 7).unwrap().iter().skip(1) {
            let body = xattr::XattrBody::parse(body).unwrap();
            assert_eq!(body.shared_ids().collect::<Vec<_>>(), [7]);
        }
    }

    #[test]
    fn how_many_copies_there_are_can_be_chosen() {
        let label: (&str, &[u8]) = ("user.label", b"1");
        let (tree, order) = tree_with(&[&[label], &[label]]);
        for (share_xattrs, shared) in [(Some(2), 0), (Some(1), 1), (Some(0), 1), (None, 0)] {
            let options =
                Options::uncompressed().with(|o| o.attributes.share_xattrs = share_xattrs);
            assert_eq!(XattrPlan::new(&tree, &order, &options).unwrap().shared_count, shared);
        }
    }

    #[test]
    fn the_root_has_room_and_no_other_inode() {
        let (tree, order) = tree_with(&[&[]]);
        for (asked, size) in [(0, 0), (1, 16), (16, 16), (17, 20), (262_148, 262_148)] {
            let options = Options::uncompressed().with(|o| o.attributes.root_xattr_size = asked);
            let plan = XattrPlan::new(&tree, &order, &options).unwrap();
            assert_eq!(plan.body_size(order[0], tree.get(order[0]).metadata.xattrs), size);
            assert_eq!(plan.body_size(order[1], tree.get(order[1]).metadata.xattrs), 0);
        }
    }

    #[test]
    fn what_has_no_form_is_refused_by_name() {
        for (name, value) in [("system.nfs4_acl", 1), ("user.big", 65536)] {
            let value = vec![1; value];
            let (tree, order) = tree_with(&[&[(name, &value)]]);
            let error =
                XattrPlan::new(&tree, &order, &Options::uncompressed()).unwrap_err().to_string();
            assert!(error.starts_with("0: ") && error.contains(name), "{error}");
        }
    }
}
