//! Defines [`Extraction`], which all steps of one extraction use.

use std::{io, os::fd::OwnedFd, path::PathBuf};

use lith_beneath::{LIST, Root};
use lith_tree::{Filesystem, Inode, Xattr, push_name};
use rustix::{fs::OFlags, io::Errno};

use super::{ExtractError, ExtractOptions, process::Process};
use crate::report::Counter;

/// What is done to a directory before anything is made in it, for messages.
pub(super) const OPEN: &str = "open the directory";

/// The path of a name in a directory of that path.
pub(super) fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = directory.to_vec();
    push_name(&mut path, name);
    path
}

/// What all steps of one extraction use.
pub(super) struct Extraction<'a> {
    pub(super) fs: Filesystem<'a>,
    pub(super) options: ExtractOptions,
    pub(super) process: Process,
    pub(super) destination: Root,
    pub(super) counter: Counter<'a>,
}

impl Extraction<'_> {
    /// Makes the error for an action at a path of the tree that the operating system refused.
    pub(super) fn error(&self, action: &'static str, path: &[u8], errno: Errno) -> ExtractError {
        self.io_error(action, path, errno.into())
    }

    pub(super) fn io_error(
        &self,
        action: &'static str,
        path: &[u8],
        source: io::Error,
    ) -> ExtractError {
        let path = self.destination_of(path);
        ExtractError::Io { path, action, source }
    }

    /// Where in the destination a path of the tree is.
    pub(super) fn destination_of(&self, path: &[u8]) -> PathBuf {
        self.destination.full_path(path)
    }

    pub(super) fn open_directory(&self, path: &[u8]) -> Result<OwnedFd, ExtractError> {
        let opened = self.destination.open_beneath(path, LIST | OFlags::NOFOLLOW);
        opened.map_err(|errno| self.error(OPEN, path, errno))
    }

    /// The xattrs that a file gets.
    pub(super) fn xattrs(&self, inode: &Inode) -> &[Xattr] {
        if self.options.xattrs { self.fs.tree.xattrs.get(inode.metadata.xattrs) } else { &[] }
    }

    pub(super) fn check_cancelled(&self) -> Result<(), ExtractError> {
        if self.counter.is_cancelled() {
            return Err(ExtractError::Cancelled);
        }
        Ok(())
    }
}
