//! Checks the options of chunk-based files.

use lith_format::kernel::Capability;

use super::{all::Options, chunks::ChunkForm, data::DataImport};
use crate::BuildError;

impl Options {
    /// Checks the size of chunks.
    pub(super) fn check_chunks(&self) -> Result<(), BuildError> {
        let chunks = self.layout.chunks;
        if chunks.is_some() || self.data == DataImport::Zeros {
            self.require(Capability::Chunks)?;
        }
        let block = self.layout.block.size();
        match chunks.map(|chunks| chunks.size) {
            Some(size) if !size.is_power_of_two() || size < block => Err(BuildError::Option {
                option: "chunk size",
                found: size.to_string(),
                expected: format!("a power of two, at least the block size, {block}"),
            }),
            _ => Ok(()),
        }
    }

    /// Checks that chunks can be stored on a device of their own.
    pub(crate) fn check_blob(&self) -> Result<(), BuildError> {
        let (found, expected) = match self.layout.chunks.map(|chunks| chunks.form) {
            None => ("alone", "it needs files in chunks"),
            Some(ChunkForm::BlockMap) => ("with block maps", "it needs indexes"),
            Some(ChunkForm::Smallest | ChunkForm::Indexes) => return Ok(()),
        };
        let option = "device for chunks";
        Err(BuildError::Option { option, found: found.into(), expected: expected.into() })
    }
}

#[cfg(test)]
mod tests {
    use lith_format::kernel::KernelVersion;

    use super::*;
    use crate::Chunks;

    #[test]
    fn chunks_are_of_whole_blocks_and_a_power_of_two() {
        let with = |size| {
            let mut options = Options::uncompressed();
            options.layout.chunks = Some(Chunks { size, form: ChunkForm::Smallest });
            options
        };
        for size in [4096, 65536, 1 << 31] {
            assert!(with(size).check().is_ok(), "{size}");
        }
        for size in [0, 2048, 12288] {
            assert!(with(size).check().is_err(), "{size}");
        }
        let kernel = KernelVersion::new(5, 10);
        assert!(Options { kernel, ..with(4096) }.check().is_err());
        let zeros = Options { kernel, data: DataImport::Zeros, ..Options::uncompressed() };
        assert!(zeros.check().is_err());
    }
}
