//! Checks block size, alignment and address width.

use lith_format::kernel::Capability;

use super::{all::Options, layout::LayoutOptions};
use crate::BuildError;

impl Options {
    /// Checks block size, alignment and address width.
    pub(super) fn check_layout(&self) -> Result<(), BuildError> {
        self.check_block()?;
        let LayoutOptions { dot_omitted, alignment, size_alignment, metadata_first, .. } =
            self.layout;
        if alignment == 0 || size_alignment == 0 {
            return Err(BuildError::Option {
                option: "alignment",
                found: "to 0 blocks".into(),
                expected: "at least 1".into(),
            });
        }
        if metadata_first && self.compression.pack_directories {
            return Err(BuildError::Option {
                option: "metadata before the content",
                found: "and directories compressed with it".into(),
                expected: "one of the two".into(),
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
}

#[cfg(test)]
mod tests {
    use lith_format::kernel::KernelVersion;

    use super::*;
    use lith_format::addr::BlockBits;

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
