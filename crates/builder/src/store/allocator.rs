//! Defines [`Allocator`], which assigns the blocks of the image in ascending order and writes them.

use std::io;

use lith_format::addr::BlockBits;
use lith_tree::Content;

use crate::{BuildError, Output, limits::past_no_address, plan::Plan};

/// The end of the image's content, where blocks are appended.
pub(super) struct Allocator<'a> {
    image: Output<'a>,
    block: BlockBits,
    /// The blocks of a file start at a multiple of so many.
    alignment: u64,
    /// The most blocks that the image can have.
    limit: u64,
    next: u64,
}

impl<'a> Allocator<'a> {
    /// Blocks are free from `next` on.
    pub(super) fn new(image: Output<'a>, plan: &Plan<'_>, next: u64) -> Self {
        let block = plan.options.layout.block;
        let (alignment, limit) = (plan.options.layout.alignment.into(), plan.most_blocks());
        Self { image, block, alignment, limit, next }
    }

    /// The next free block.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// The blocks of a file start at a multiple of so many.
    pub(super) const fn alignment(&self) -> u64 {
        self.alignment
    }

    pub(super) const fn image(&self) -> Output<'a> {
        self.image
    }

    pub(super) const fn block(&self) -> BlockBits {
        self.block
    }

    /// Moves to where a file can start that needs `count` contiguous blocks.
    pub(super) fn align(&mut self, count: u64) {
        let start = self.next.next_multiple_of(self.alignment);
        self.next = past_no_address(start, count).next_multiple_of(self.alignment);
    }

    /// Moves to a free block further on.
    pub(super) const fn skip_to(&mut self, block: u64) {
        self.next = block;
    }

    /// Assigns the next blocks.
    pub(super) const fn assign(&mut self, blocks: u64) -> Result<(), BuildError> {
        self.next += blocks;
        self.check_limit(self.next)
    }

    /// The most blocks of the image.
    pub(super) const fn limit(&self) -> u64 {
        self.limit
    }

    /// Refuses a device that would have so many blocks.
    pub(super) const fn check_limit(&self, end: u64) -> Result<(), BuildError> {
        let limit = self.limit;
        if end > limit { Err(BuildError::TooLarge { limit }) } else { Ok(()) }
    }

    /// Assigns the blocks of `data` and writes them.
    pub(super) fn append(&mut self, data: &[u8]) -> Result<(), BuildError> {
        let position = self.position();
        self.assign(self.block.blocks_for(data.len() as u64))?;
        self.image.write_all_at(data, position).map_err(failed)
    }

    /// Assigns blocks and copies content to them within the system; `false`: it can't, and nothing is assigned.
    pub(super) fn append_copy(
        &mut self,
        from: &dyn Content,
        (start, blocks): (u64, u64),
    ) -> Result<bool, BuildError> {
        let len = blocks * u64::from(self.block.size());
        let is_copied = self.image.copy(from, (start, len), self.position()).map_err(failed)?;
        if is_copied {
            self.assign(blocks)?;
        }
        Ok(is_copied)
    }

    /// Writes the image up to its assigned blocks, as zeros where nothing was written.
    pub(super) fn reach_end(&self) -> Result<(), BuildError> {
        self.image.reach(self.position()).map_err(failed)
    }

    /// Frees all blocks from `start` on. In a file, which can be cut, nothing remains of their content.
    pub(super) fn free_from(&mut self, start: u64) -> Result<(), BuildError> {
        self.next = start;
        self.image.cut(self.position()).map_err(failed)
    }

    fn position(&self) -> u64 {
        self.next * u64::from(self.block.size())
    }
}

fn failed(source: io::Error) -> BuildError {
    BuildError::Output { action: "write", source }
}
