//! In what do two inodes differ, apart from the bytes of regular files?

use std::{cmp::Ordering, iter::Peekable, slice};

use super::Change;
use crate::{Inode, InodeIndex, Kind, Tree, Xattr};

/// Tells all differences in attributes of two inodes at one path.
pub(super) fn compare(
    (left_tree, left): (&Tree, InodeIndex),
    (right_tree, right): (&Tree, InodeIndex),
    tell: &mut impl FnMut(Change),
) {
    let left = left_tree.get(left);
    let right = right_tree.get(right);
    compare_kinds(left, right, tell);
    compare_metadata(left, right, tell);
    compare_xattrs(
        left_tree.xattrs.get(left.metadata.xattrs),
        right_tree.xattrs.get(right.metadata.xattrs),
        tell,
    );
}

fn compare_kinds(left: &Inode, right: &Inode, tell: &mut impl FnMut(Change)) {
    match (&left.kind, &right.kind) {
        (Kind::Regular { size: left }, Kind::Regular { size: right }) if left != right => {
            tell(Change::Size(*left, *right));
        }
        (Kind::Symlink(left), Kind::Symlink(right)) if left != right => {
            tell(Change::Target(left.clone(), right.clone()));
        }
        (Kind::CharDevice(left), Kind::CharDevice(right))
        | (Kind::BlockDevice(left), Kind::BlockDevice(right))
            if left != right =>
        {
            tell(Change::Rdev(*left, *right));
        }
        (one, other) if one.letter() != other.letter() => {
            tell(Change::Kind(one.letter(), other.letter()));
            return;
        }
        _ => {}
    }
    if left.nlink() != right.nlink() {
        tell(Change::Nlink(left.nlink(), right.nlink()));
    }
}

fn compare_metadata(left: &Inode, right: &Inode, tell: &mut impl FnMut(Change)) {
    let (left, right) = (&left.metadata, &right.metadata);
    if left.permissions != right.permissions {
        tell(Change::Permissions(left.permissions, right.permissions));
    }
    if left.uid != right.uid {
        tell(Change::Uid(left.uid, right.uid));
    }
    if left.gid != right.gid {
        tell(Change::Gid(left.gid, right.gid));
    }
    if left.mtime != right.mtime {
        tell(Change::Mtime(left.mtime, right.mtime));
    }
}

fn compare_xattrs(left: &[Xattr], right: &[Xattr], tell: &mut impl FnMut(Change)) {
    if left == right {
        return;
    }
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    while let Some(order) = order(&mut left, &mut right) {
        let one = left.next_if(|_| order.is_le());
        let other = right.next_if(|_| order.is_ge());
        match (one, other) {
            (Some(one), Some(other)) if one.value != other.value => tell(Change::XattrValue {
                name: one.name.clone(),
                left: one.value.clone(),
                right: other.value.clone(),
            }),
            (Some(one), None) => tell(Change::XattrMissing(one.name.clone())),
            (None, Some(other)) => tell(Change::XattrAdded(other.name.clone())),
            _ => {}
        }
    }
}

type Xattrs<'a> = Peekable<slice::Iter<'a, Xattr>>;

/// How the names of the next two compare; none at the end of both.
fn order(left: &mut Xattrs<'_>, right: &mut Xattrs<'_>) -> Option<Ordering> {
    match (left.peek(), right.peek()) {
        (Some(left), Some(right)) => Some(left.name.cmp(&right.name)),
        (Some(_), None) => Some(Ordering::Less),
        (None, Some(_)) => Some(Ordering::Greater),
        (None, None) => None,
    }
}
