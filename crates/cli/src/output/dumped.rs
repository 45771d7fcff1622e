//! Shows a line of `lith dump` as JSON.

use std::borrow::Cow;

use lith::{
    format::file_type::FileType,
    tree::{DumpRow, Kind, Rdev, Xattr},
};
use serde::Serialize;

use super::json::{self, hex_unless_text, text};

/// A name and what it leads to.
#[derive(Serialize)]
pub(crate) struct DumpRecord<'a> {
    path: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_hex: Option<String>,
    #[serde(rename = "type")]
    kind: &'static str,
    mode: String,
    uid: u32,
    gid: u32,
    mtime: i64,
    mtime_nsec: u32,
    nlink: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rdev: Option<Device>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_hex: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    xattrs: Vec<Attribute<'a>>,
    /// The first path of the same inode.
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_hex: Option<String>,
}

#[derive(Serialize)]
struct Device {
    major: u32,
    minor: u32,
}

/// An extended attribute, whose value is in hexadecimal digits.
#[derive(Serialize)]
struct Attribute<'a> {
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name_hex: Option<String>,
    value: String,
}

impl<'a> From<&DumpRow<'a>> for DumpRecord<'a> {
    fn from(row: &DumpRow<'a>) -> Self {
        let (kind, metadata) = (&row.inode.kind, &row.inode.metadata);
        let (path, path_hex) = json::path(row.path);
        let target = match kind {
            Kind::Symlink(target) => Some(&**target),
            _ => None,
        };
        let (first, first_hex) = row.first.map(json::path).unzip();
        Self {
            path,
            path_hex,
            kind: word(kind),
            mode: format!("{:04o}", metadata.permissions),
            uid: metadata.uid,
            gid: metadata.gid,
            mtime: metadata.mtime.sec,
            mtime_nsec: metadata.mtime.nsec,
            nlink: row.inode.nlink(),
            size: match kind {
                Kind::Regular { size } => Some(*size),
                _ => None,
            },
            rdev: match *kind {
                Kind::CharDevice(rdev) | Kind::BlockDevice(rdev) => Some(rdev.into()),
                _ => None,
            },
            sha256: row.hash.map(hex::encode),
            target: target.map(text),
            target_hex: target.and_then(hex_unless_text),
            xattrs: row.xattrs.iter().map(Attribute::from).collect(),
            first,
            first_hex: first_hex.flatten(),
        }
    }
}

impl From<Rdev> for Device {
    fn from(Rdev { major, minor }: Rdev) -> Self {
        Self { major, minor }
    }
}

impl<'a> From<&'a Xattr> for Attribute<'a> {
    fn from(xattr: &'a Xattr) -> Self {
        let name = text(&xattr.name);
        Self { name, name_hex: hex_unless_text(&xattr.name), value: hex::encode(&xattr.value) }
    }
}

/// The type of a file, as `lith ls --json` has it.
const fn word(kind: &Kind) -> &'static str {
    match kind {
        Kind::Regular { .. } => FileType::Regular.word(),
        Kind::Directory(_) => FileType::Directory.word(),
        Kind::Symlink(_) => FileType::Symlink.word(),
        Kind::CharDevice(_) => FileType::CharDevice.word(),
        Kind::BlockDevice(_) => FileType::BlockDevice.word(),
        Kind::Fifo => FileType::Fifo.word(),
        Kind::Socket => FileType::Socket.word(),
    }
}
