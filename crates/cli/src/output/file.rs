//! Defines the JSON form of a file of an image.

use std::borrow::Cow;

use lith::{
    format::{file_type::FileType, inode::InodeData},
    reader::Inode,
};
use serde::Serialize;

use super::json;

/// What is shown of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attributes {
    /// In an image.
    pub(crate) nid: Option<u64>,
    pub(crate) file_type: FileType,
    pub(crate) mode: u16,
    pub(crate) nlink: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) size: u64,
    pub(crate) mtime: i64,
    pub(crate) mtime_nsec: u32,
    /// A device's major and minor number.
    pub(crate) rdev: Option<(u32, u32)>,
}

impl From<&Inode> for Attributes {
    fn from(inode: &Inode) -> Self {
        let rdev = match inode.data {
            InodeData::Device(rdev) => Some((rdev.major, rdev.minor)),
            _ => None,
        };
        Self {
            nid: Some(inode.nid.0),
            file_type: inode.file_type,
            mode: inode.mode,
            nlink: inode.nlink,
            uid: inode.uid,
            gid: inode.gid,
            size: inode.size,
            mtime: inode.mtime,
            mtime_nsec: inode.mtime_nsec,
            rdev,
        }
    }
}

/// A line of `ls --json`.
#[derive(Debug, Serialize)]
pub(crate) struct FileRecord<'a> {
    path: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_hex: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nid: Option<u64>,
    #[serde(rename = "type")]
    kind: &'static str,
    mode: String,
    nlink: u32,
    uid: u32,
    gid: u32,
    size: u64,
    mtime: i64,
    mtime_nsec: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    rdev: Option<Rdev>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_hex: Option<String>,
}

#[derive(Debug, Serialize)]
struct Rdev {
    major: u32,
    minor: u32,
}

impl<'a> FileRecord<'a> {
    /// The record of the file at a path, with its target if it is a symbolic link.
    pub(crate) fn new(path: &'a [u8], file: &Attributes, target: Option<&'a [u8]>) -> Self {
        let (path, path_hex) = json::path(path);
        Self {
            path,
            path_hex,
            nid: file.nid,
            kind: file.file_type.word(),
            mode: format!("{:04o}", file.mode & 0o7777),
            nlink: file.nlink,
            uid: file.uid,
            gid: file.gid,
            size: file.size,
            mtime: file.mtime,
            mtime_nsec: file.mtime_nsec,
            rdev: file.rdev.map(|(major, minor)| Rdev { major, minor }),
            target: target.map(json::text),
            target_hex: target.and_then(json::hex_unless_text),
        }
    }
}
