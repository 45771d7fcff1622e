//! Combines the fields of a member's header with its extended headers.

use std::mem;

use lith_tree::{Metadata, Rdev, Timestamp, Xattr};

use super::{
    acl,
    error::{Damage, Refusal},
    header::MemberHeader,
    overrides::Overrides,
};
use crate::namespace::{ACL_ACCESS, ACL_DEFAULT};

/// The attributes that files of every type have.
pub(super) fn metadata(header: &MemberHeader, overrides: &Overrides) -> Result<Metadata, Damage> {
    let uid = overrides.uid.map_or_else(|| header.uid(), Ok)?;
    let gid = overrides.gid.map_or_else(|| header.gid(), Ok)?;
    let mtime: Result<Timestamp, _> = overrides.mtime.map_or_else(|| header.mtime(), Ok);
    Ok(Metadata {
        permissions: header.permissions()?,
        uid,
        gid,
        mtime: mtime?,
        ..Metadata::default()
    })
}

/// Checks the target of a symbolic link.
pub(super) fn target(target: Vec<u8>) -> Result<Box<[u8]>, Refusal> {
    if target.is_empty() || target.contains(&0) {
        return Err(Refusal::SymlinkTarget(target.into()));
    }
    Ok(target.into())
}

/// The number of a device.
pub(super) fn rdev(header: &MemberHeader, overrides: &Overrides) -> Result<Rdev, Damage> {
    let rdev = header.rdev()?;
    Ok(Rdev {
        major: overrides.major.unwrap_or(rdev.major),
        minor: overrides.minor.unwrap_or(rdev.minor),
    })
}

/// Bytes of data that follow.
pub(super) fn stored_size(header: &MemberHeader, overrides: &Overrides) -> Result<u64, Damage> {
    overrides.size.map_or_else(|| header.size(), Ok)
}

/// The extended attributes. An ACL's text is used only without an attribute of that ACL.
pub(super) fn xattrs(overrides: &mut Overrides) -> Result<Vec<Xattr>, Refusal> {
    let mut xattrs = mem::take(&mut overrides.xattrs);
    let has = |xattrs: &[Xattr], name: &[u8]| xattrs.iter().any(|xattr| *xattr.name == *name);
    let texts = [
        (ACL_ACCESS, overrides.acl_access.take(), acl::access as fn(&_) -> _),
        (ACL_DEFAULT, overrides.acl_default.take(), acl::default),
    ];
    for (name, text, parse) in texts {
        let Some(text) = text.filter(|_| !has(&xattrs, name)) else {
            continue;
        };
        let value: Option<Box<[u8]>> = parse(&text)?;
        xattrs.extend(value.map(|value| Xattr { name: name.into(), value }));
    }
    Ok(xattrs)
}
