//! Reads the attributes of a SquashFS image's files.

use std::collections::HashMap;

use lith_squashfs::{Inode, SquashFs};
use lith_tree::{Metadata, Timestamp, Xattr, XattrPool, XattrSet};

use super::SquashFsError;
use crate::{limits, namespace};

/// The sets of extended attributes that were read.
pub(super) struct Attributes {
    are_read: bool,
    sets: HashMap<u32, XattrSet>,
    /// Bytes of all of them.
    bytes: usize,
}

/// Extended attributes of a file.
#[derive(Default)]
pub(super) struct Read {
    pub(super) set: XattrSet,
    /// Names of those that the format can't store, where a set is read for the first time.
    pub(super) left_out: Vec<Box<[u8]>>,
}

impl Attributes {
    pub(super) fn new(are_read: bool) -> Self {
        Self { are_read, sets: HashMap::new(), bytes: 0 }
    }

    /// The set of a number, in the pool of a tree, for the file at a path.
    pub(super) fn set(
        &mut self,
        image: &SquashFs,
        number: Option<u32>,
        pool: &mut XattrPool,
        path: &[u8],
    ) -> Result<Read, SquashFsError> {
        let Some(number) = number.filter(|_| self.are_read) else { return Ok(Read::default()) };
        if let Some(set) = self.sets.get(&number) {
            return Ok(Read { set: *set, left_out: Vec::new() });
        }
        let failed = |source| SquashFsError::Read { path: path.to_vec(), source };
        let xattrs = image.xattrs(number).map_err(failed)?;
        self.bytes += xattrs.iter().map(|x| x.name.len() + x.value.len()).sum::<usize>();
        if self.bytes > limits::SQUASHFS_XATTRS {
            return Err(SquashFsError::Xattrs);
        }
        let (mut kept, mut left_out) = (Vec::new(), Vec::new());
        for lith_squashfs::Xattr { name, value } in xattrs {
            if namespace::is_kept(&name) {
                kept.push(Xattr { name: name.into(), value: value.into() });
            } else {
                left_out.push(name.into());
            }
        }
        let set = pool.intern(kept);
        self.sets.insert(number, set);
        Ok(Read { set, left_out })
    }
}

/// The attributes of an inode with a set of extended ones.
pub(super) fn metadata(inode: &Inode, xattrs: XattrSet) -> Metadata {
    Metadata {
        permissions: inode.permissions,
        uid: inode.uid,
        gid: inode.gid,
        mtime: Timestamp { sec: inode.mtime.into(), nsec: 0 },
        xattrs,
    }
}
