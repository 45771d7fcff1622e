//! Defines [`StoredFiles`]: where the content of files is stored.

use std::{collections::HashMap, ops::Range};

use lith_tree::InodeIndex;

use super::{
    files::{FileTable, StoredFile},
    tail::Tail,
};
use crate::{Context, Output, coding::Used, plan::Plan};

/// Where blocks are written to, and with which resources.
#[derive(Clone, Copy)]
pub(crate) struct Destination<'a> {
    pub(crate) image: Output<'a>,
    pub(crate) context: &'a Context<'a>,
}

/// Where the content of files is stored.
pub(crate) struct StoredFiles {
    /// How each file is stored, and its digest.
    pub(crate) table: FileTable,
    /// The encodings that some file uses.
    pub(crate) used: Used,
    /// The next free block.
    pub(crate) next: u64,
    /// Blocks on the device for chunks.
    pub(crate) blob_blocks: u64,
    /// Whether some pcluster has more than one extent.
    pub(crate) has_shared: bool,
    /// The ends of files that are not stored yet, in the order of the files.
    pub(crate) tails: Vec<Tail>,
    /// The blocks of what is hot of files.
    pub(crate) hot: Option<Range<u64>>,
    /// The blocks of what is hot of the packed inode.
    pub(crate) hot_packed: Option<Range<u64>>,
}

impl StoredFiles {
    /// Nothing is stored yet; blocks are free from `start` on.
    pub(crate) fn new(plan: &Plan<'_>, start: u64, context: &Context<'_>) -> Self {
        Self {
            table: FileTable::new(plan.inodes(), context),
            used: Used::default(),
            next: start,
            blob_blocks: 0,
            has_shared: false,
            tails: Vec::new(),
            hot: None,
            hot_packed: None,
        }
    }

    /// The same with the blocks up to `next` in use.
    pub(crate) fn with_next(self, next: u64) -> Self {
        Self { next, ..self }
    }

    /// The same, and the ends of files that are not stored yet.
    pub(crate) fn without_tails(self) -> (Self, Vec<Tail>) {
        let tails = Vec::new();
        (Self { tails, ..self }, self.tails)
    }

    /// The same with files that refer to the content of others.
    pub(crate) fn with_duplicates(mut self, duplicates: &HashMap<InodeIndex, InodeIndex>) -> Self {
        for (file, original) in duplicates {
            self.table.copy(*original, *file);
        }
        self
    }

    /// How an inode's content is stored.
    pub(crate) fn get(&self, inode: InodeIndex) -> StoredFile {
        self.table.get(inode)
    }
}
