//! Parses the form of [`lith_tree::dump()`].

use lith_tree::{Metadata, Rdev, Timestamp, Xattr};

use super::{
    entry::{Bytes, Described, Entry, EntryKind, nanoseconds, number, relative, seconds},
    error::ManifestProblem,
    escape::{unescape, unhex},
};

/// `path type mode uid gid mtime.sec mtime.nsec nlink size rdev sha256 target xattrs first`.
pub(super) fn parse(line: &[u8]) -> Result<Described, ManifestProblem> {
    let fields: Vec<&[u8]> = line.trim_ascii_end().split(|byte| *byte == b' ').collect();
    let [path, kind, mode, uid, gid, sec, nsec, _nlink, size, rdev, _sha256, target, xattrs, first] =
        *fields.as_slice()
    else {
        return Err(ManifestProblem::Missing);
    };
    let metadata = Metadata {
        permissions: number::<u16>(mode, 8, "mode")? & 0o7777,
        uid: number(uid, 10, "owner")?,
        gid: number(gid, 10, "group")?,
        mtime: Timestamp { sec: seconds(sec)?, nsec: nanoseconds(nsec)? },
        ..Metadata::default()
    };
    let kind = match kind {
        _ if first != b"-" => EntryKind::HardLink(relative(&unescape(first)?)),
        b"d" => EntryKind::Directory,
        b"f" => {
            let size = Some(number(size, 10, "size")?);
            EntryKind::Regular { size, content: Bytes::Own }
        }
        b"l" => EntryKind::Symlink(unescape(target)?.into()),
        b"c" => EntryKind::CharDevice(device(rdev)?),
        b"b" => EntryKind::BlockDevice(device(rdev)?),
        b"p" => EntryKind::Fifo,
        b"s" => EntryKind::Socket,
        _ => return Err(ManifestProblem::field("file type", kind)),
    };
    let xattrs = match xattrs {
        b"-" => Vec::new(),
        all => all.split(|byte| *byte == b',').map(xattr).collect::<Result<_, _>>()?,
    };
    Ok((relative(&unescape(path)?), Entry { kind, metadata, xattrs }))
}

/// `MAJOR:MINOR`.
fn device(field: &[u8]) -> Result<Rdev, ManifestProblem> {
    let colon = field.iter().position(|byte| *byte == b':');
    let wrong = || ManifestProblem::field("device number", field);
    let (major, minor) = field.split_at(colon.ok_or_else(wrong)?);
    let minor = minor.get(1..).unwrap_or_default();
    Ok(Rdev { major: number(major, 10, "major")?, minor: number(minor, 10, "minor")? })
}

/// `NAME=HEX`.
fn xattr(field: &[u8]) -> Result<Xattr, ManifestProblem> {
    let equals = field.iter().position(|byte| *byte == b'=');
    let wrong = || ManifestProblem::field("extended attribute", field);
    let (name, value) = field.split_at(equals.ok_or_else(wrong)?);
    let value = unhex(value.get(1..).unwrap_or_default())?;
    Ok(Xattr { name: unescape(name)?.into(), value: value.into() })
}
