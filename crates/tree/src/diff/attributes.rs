//! Compares two inodes except for the bytes of regular files.

use std::{cmp::Ordering, iter::Peekable, slice};

use super::{Change, pairs::Sides};
use crate::{Inode, InodeIndex, Kind, Tree, Xattr};

/// Reports all differences in attributes of two inodes at one path.
pub(super) fn compare(
    trees: Sides<&Tree>,
    files: Sides<InodeIndex>,
    report: &mut impl FnMut(Change),
) {
    let left = trees.left.get(files.left);
    let right = trees.right.get(files.right);
    compare_kinds(left, right, report);
    compare_metadata(left, right, report);
    compare_xattrs(
        trees.left.xattrs.get(left.metadata.xattrs),
        trees.right.xattrs.get(right.metadata.xattrs),
        report,
    );
}

fn compare_kinds(left: &Inode, right: &Inode, report: &mut impl FnMut(Change)) {
    match (&left.kind, &right.kind) {
        (Kind::Regular { size: left }, Kind::Regular { size: right }) if left != right => {
            report(Change::Size(*left, *right));
        }
        (Kind::Symlink(left), Kind::Symlink(right)) if left != right => {
            report(Change::Target(left.clone(), right.clone()));
        }
        (Kind::CharDevice(left), Kind::CharDevice(right))
        | (Kind::BlockDevice(left), Kind::BlockDevice(right))
            if left != right =>
        {
            report(Change::Rdev(*left, *right));
        }
        (one, other) if one.letter() != other.letter() => {
            report(Change::Kind(one.letter(), other.letter()));
            return;
        }
        _ => {}
    }
    if left.nlink() != right.nlink() {
        report(Change::Nlink(left.nlink(), right.nlink()));
    }
}

fn compare_metadata(left: &Inode, right: &Inode, report: &mut impl FnMut(Change)) {
    let (left, right) = (&left.metadata, &right.metadata);
    if left.permissions != right.permissions {
        report(Change::Permissions(left.permissions, right.permissions));
    }
    if left.uid != right.uid {
        report(Change::Uid(left.uid, right.uid));
    }
    if left.gid != right.gid {
        report(Change::Gid(left.gid, right.gid));
    }
    if left.mtime != right.mtime {
        report(Change::Mtime(left.mtime, right.mtime));
    }
}

fn compare_xattrs(left: &[Xattr], right: &[Xattr], report: &mut impl FnMut(Change)) {
    if left == right {
        return;
    }
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    while let Some(order) = order(&mut left, &mut right) {
        let one = left.next_if(|_| order.is_le());
        let other = right.next_if(|_| order.is_ge());
        match (one, other) {
            (Some(one), Some(other)) if one.value != other.value => report(Change::XattrValue {
                name: one.name.clone(),
                left: one.value.clone(),
                right: other.value.clone(),
            }),
            (Some(one), None) => report(Change::XattrMissing(one.name.clone())),
            (None, Some(other)) => report(Change::XattrAdded(other.name.clone())),
            _ => {}
        }
    }
}

type Xattrs<'a> = Peekable<slice::Iter<'a, Xattr>>;

/// How the names of the next two compare; `None` at the end of both.
fn order(left: &mut Xattrs<'_>, right: &mut Xattrs<'_>) -> Option<Ordering> {
    match (left.peek(), right.peek()) {
        (Some(left), Some(right)) => Some(left.name.cmp(&right.name)),
        (Some(_), None) => Some(Ordering::Less),
        (None, Some(_)) => Some(Ordering::Greater),
        (None, None) => None,
    }
}
