//! Defines [`Analysis`]: what scanning found out about content.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    ops::Range,
};

use lith_tree::InodeIndex;

use super::{parts::Parts, repeats::Repeats, sketch::Sketch};
use crate::{Digest, Input, KnownStorage};

/// The end of a file, or all of it, which the packed inode will hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fragment {
    pub(crate) inode: InodeIndex,
    /// Where it starts in the file.
    pub(crate) start: u64,
    pub(crate) len: u64,
    pub(crate) digest: Digest,
}

/// How a file is stored whose bytes are not read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unread<'a> {
    /// Other devices hold it. With its digest, if it was read to find that out.
    Known(Cow<'a, KnownStorage>, Option<Box<Digest>>),
    /// It gets contiguous blocks, which others fill later.
    Reserved,
    /// It is one hole.
    Hole,
}

impl Unread<'_> {
    /// Whether its bytes were read once, for its digest.
    pub(crate) const fn has_digest(&self) -> bool {
        matches!(self, Self::Known(_, Some(_)))
    }
}

/// What is known of the content of files before it is stored.
#[derive(Debug, Default)]
pub(crate) struct Analysis<'a> {
    /// The files that are stored from their bytes, in order.
    pub(crate) files: Vec<InodeIndex>,
    /// Those that are not read, by index.
    pub(crate) unread: Vec<(InodeIndex, Unread<'a>)>,
    /// Those with the bytes of another file, which precedes them.
    pub(crate) duplicates: HashMap<InodeIndex, InodeIndex>,
    /// Those of `files` that become fragments as a whole, in the same order.
    pub(crate) fragments: Vec<Fragment>,
    /// Those of `fragments`: only until these are in order, as they take more memory than all else of a small file.
    pub(crate) sketches: Vec<Sketch>,
    /// Large files that are better stored with holes than compressed.
    pub(crate) sparse: HashSet<InodeIndex>,
    /// The extents of `files` that other devices hold.
    pub(crate) parts: HashMap<InodeIndex, Parts>,
    /// Stretches that are stored once for several places.
    pub(crate) repeats: Repeats,
}

impl Analysis<'_> {
    /// A single file of which nothing is known.
    pub(crate) fn of_unknown(inode: InodeIndex) -> Self {
        Self { files: vec![inode], ..Self::default() }
    }

    /// The ranges of the packed inodes of other images to which files refer.
    pub(crate) fn in_known_packed(&self, input: Input<'_>) -> Vec<Range<u64>> {
        let range = |(inode, how): &(InodeIndex, Unread<'_>)| match how {
            Unread::Known(stored, _) => stored.in_packed(input.size(*inode)),
            Unread::Reserved | Unread::Hole => None,
        };
        self.unread.iter().filter_map(range).collect()
    }

    /// The files that are stored in blocks of their own, at least in part.
    pub(crate) fn in_blocks(&self) -> Vec<InodeIndex> {
        let mut fragments = self.fragments.iter().map(|fragment| fragment.inode).peekable();
        let is_none = |inode: &&InodeIndex| fragments.next_if_eq(inode).is_none();
        self.files.iter().filter(is_none).copied().collect()
    }
}
