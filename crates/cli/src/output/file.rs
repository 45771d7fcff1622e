//! Defines the JSON form of a file of an image.

use std::borrow::Cow;

use lith::{format::inode::InodeData, reader::Inode};
use serde::Serialize;

use super::json;

/// A line of `ls --json`.
#[derive(Debug, Serialize)]
pub(crate) struct FileRecord<'a> {
    path: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_hex: Option<String>,
    nid: u64,
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
    /// The record of the inode at a path, with its target if it is a symbolic link.
    pub(crate) fn new(path: &'a [u8], inode: &Inode, target: Option<&'a [u8]>) -> Self {
        let rdev = match inode.data {
            InodeData::Device(rdev) => Some(Rdev { major: rdev.major, minor: rdev.minor }),
            _ => None,
        };
        let (path, path_hex) = json::path(path);
        Self {
            path,
            path_hex,
            nid: inode.nid.0,
            kind: inode.file_type.word(),
            mode: format!("{:04o}", inode.mode & 0o7777),
            nlink: inode.nlink,
            uid: inode.uid,
            gid: inode.gid,
            size: inode.size,
            mtime: inode.mtime,
            mtime_nsec: inode.mtime_nsec,
            rdev,
            target: target.map(json::text),
            target_hex: target.and_then(json::hex_unless_text),
        }
    }
}
