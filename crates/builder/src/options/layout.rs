//! Defines [`LayoutOptions`]: where and in which units blocks are stored.

use lith_format::{addr::BlockBits, kernel::Capability};

use super::{IndexForm, Options};
use crate::{BuildError, Chunks};

/// Where and in which units blocks are stored.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct LayoutOptions {
    /// The block size.
    pub block: BlockBits,
    /// Whether the end of an uncompressed file, less than a block, is stored inline next to its inode where it fits.
    pub inline_data: bool,
    /// The chunks of uncompressed files. `None`: each such file is contiguous.
    pub chunks: Option<Chunks>,
    /// Whether equal files, or equal chunks, are stored once.
    pub share_duplicates: bool,
    /// Whether the image has the 48-bit layout: block addresses beyond 2^32, compact inodes with times of their own, and
    /// extent records where they are the smallest index.
    pub wide: bool,
    /// Whether directories omit their entry `.`, which only the 48-bit layout allows.
    pub dot_omitted: bool,
    /// The first block that may hold file content; blocks before it stay free.
    pub data_start: u64,
    /// The blocks of each file start at a multiple of this many blocks. In chunk-based files each chunk does, unless it
    /// is smaller than that.
    pub alignment: u32,
    /// The image's number of blocks is a multiple of this.
    pub size_alignment: u64,
}

impl Default for LayoutOptions {
    fn default() -> Self {
        Self {
            block: BlockBits::DEFAULT,
            inline_data: true,
            chunks: None,
            share_duplicates: true,
            wide: false,
            dot_omitted: false,
            data_start: 0,
            alignment: 1,
            size_alignment: 1,
        }
    }
}

impl Options {
    /// Checks block size, alignment and address width.
    pub(super) fn check_layout(&self) -> Result<(), BuildError> {
        self.check_block()?;
        let LayoutOptions { dot_omitted, alignment, size_alignment, .. } = self.layout;
        if alignment == 0 || size_alignment == 0 {
            return Err(BuildError::Option {
                option: "alignment",
                found: "to 0 blocks".into(),
                expected: "at least 1".into(),
            });
        }
        if dot_omitted {
            self.require(Capability::DotOmitted)?;
        }
        if self.is_wide() {
            self.require(Capability::Bits48)?;
        }
        Ok(())
    }

    fn check_block(&self) -> Result<(), BuildError> {
        let block = self.layout.block;
        if block.bits() >= 12 {
            return Ok(());
        }
        let (what, needs) = match self.compressions().next() {
            None => ("blocks", Capability::SubPageBlocks),
            Some(_) => ("compression with blocks", Capability::SubPageCompressedBlocks),
        };
        self.require_for(needs, || format!("{what} of {} bytes", block.size()))
    }

    /// Chunks start at multiples of this many blocks: of 1 if they are smaller than the alignment of files.
    pub(crate) fn chunk_alignment(&self) -> u64 {
        let LayoutOptions { block, chunks, alignment, .. } = self.layout;
        let bytes = u64::from(alignment) * u64::from(block.size());
        let fits = chunks.is_some_and(|chunks| u64::from(chunks.size) >= bytes);
        if fits { alignment.into() } else { 1 }
    }

    /// Whether the image has the 48-bit layout.
    pub(crate) const fn is_wide(&self) -> bool {
        let has_wide_parts = self.layout.dot_omitted || self.compression.metabox.is_some();
        self.layout.wide || has_wide_parts || matches!(self.compression.index, IndexForm::Records)
    }

    /// The most blocks that an image can have. The last two addresses have special meanings.
    pub(crate) const fn most_blocks(&self) -> u64 {
        if self.is_wide() { (1 << 48) - 2 } else { u32::MAX as u64 - 1 }
    }
}

#[cfg(test)]
mod tests {
    use lith_format::kernel::KernelVersion;

    use super::*;

    #[test]
    fn small_blocks_need_newer_kernels() {
        let block = BlockBits::new(9).unwrap();
        let mut options = Options::uncompressed();
        options.layout.block = block;
        assert!(options.check().is_err());
        options.kernel = KernelVersion::new(6, 4);
        assert!(options.check().is_ok());
    }
}
