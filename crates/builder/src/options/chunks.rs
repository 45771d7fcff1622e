//! Can files lie in chunks as asked for?

use lith_format::kernel::Capability;

use super::Options;
use crate::{BuildError, ChunkForm, DataImport};

impl Options {
    /// Says why files can't lie in chunks, if so, or the chunks not on a device of their own.
    pub(super) fn check_chunks(&self) -> Result<(), BuildError> {
        if self.chunks.is_some() || self.data == DataImport::Zeros {
            self.require(Capability::Chunks)?;
        }
        let block = self.block.size();
        match self.chunks.map(|chunks| chunks.size) {
            Some(size) if !size.is_power_of_two() || size < block => Err(BuildError::Option {
                option: "chunk size",
                found: size.to_string(),
                expected: format!("a power of two, at least the block size, {block}"),
            }),
            _ => self.check_blob(),
        }
    }

    fn check_blob(&self) -> Result<(), BuildError> {
        let (found, expected) = match self.chunks.map(|chunks| chunks.form) {
            _ if self.blob.is_none() => return Ok(()),
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
            let form = ChunkForm::Smallest;
            Options { chunks: Some(Chunks { size, form }), ..Options::default() }
        };
        for size in [4096, 65536, 1 << 31] {
            assert!(with(size).check().is_ok(), "{size}");
        }
        for size in [0, 2048, 12288] {
            assert!(with(size).check().is_err(), "{size}");
        }
        let kernel = KernelVersion::new(5, 10);
        assert!(Options { kernel, ..with(4096) }.check().is_err());
        assert!(Options { kernel, data: DataImport::Zeros, ..Options::default() }.check().is_err());
    }
}
