//! Defines [`Image`]: what the superblock is written from.

use lith_format::addr::Nid;

use crate::{
    Digest,
    place::Placement,
    plan::Geometry,
    store::{Destination, StoredFiles},
};

/// A whole image, except its superblock.
#[derive(Clone, Copy)]
pub(crate) struct Image<'a> {
    pub(crate) geometry: Geometry<'a>,
    pub(crate) stored: &'a StoredFiles,
    pub(crate) placement: &'a Placement,
    pub(crate) destination: Destination<'a>,
    pub(crate) root: Nid,
    /// Where long prefixes of extended attributes are in the packed inode, in units of 4 bytes.
    pub(crate) prefixes_start: u32,
    /// The digest of all metadata and of the content of files.
    pub(crate) content: Digest,
}
