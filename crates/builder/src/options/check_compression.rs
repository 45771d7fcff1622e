//! Checks how files, the packed inode and metadata are compressed.

use lith_format::kernel::Capability;

use super::{all::Options, compression::Fragments, rule::Rule};
use crate::{BuildError, coding::algorithm_of};

/// The largest pcluster that kernels read.
const MAX_PCLUSTER: u32 = 1 << 20;

impl Options {
    /// Checks how files, the packed inode and metadata are compressed.
    pub(super) fn check_compression(&self) -> Result<(), BuildError> {
        let compression = &self.compression;
        if compression.fragments != Fragments::None {
            self.require(Capability::Fragments)?;
        }
        if compression.dedupe {
            self.require(Capability::PartialReferences)?;
        }
        if compression.tail_packing {
            self.require(Capability::Ztailpacking)?;
        }
        self.check_metabox()?;
        self.check_extents()?;
        for compression in self.compressions() {
            compression.pcluster.map_or(Ok(()), |size| self.check_pcluster(size))?;
        }
        compression.rules.iter().try_for_each(check_second)?;
        if compression.hot.is_some() && compression.files.is_none() {
            return Err(BuildError::Option {
                option: "compression of what is read first",
                found: "alone".into(),
                expected: "one of the other content, too: without one, a rule".into(),
            });
        }
        // Kernels that know two algorithms know HEAD2 as well.
        self.encodings()
            .try_for_each(|encoding| self.require(algorithm_of(encoding.compressor).capability()))
    }

    fn check_metabox(&self) -> Result<(), BuildError> {
        let has_metabox = self.compression.metabox.is_some();
        if has_metabox {
            self.require(Capability::Metabox)?;
        }
        let can_pack = has_metabox && self.longest_fragment() > 0;
        if self.compression.pack_directories && !can_pack {
            return Err(BuildError::Option {
                option: "directory compression",
                found: "alone".into(),
                expected: "it needs compressed metadata and fragments".into(),
            });
        }
        Ok(())
    }

    fn check_extents(&self) -> Result<(), BuildError> {
        let block = self.layout.block.size();
        if let Some(most) = self.compression.max_extent.filter(|most| *most < block) {
            return Err(BuildError::Option {
                option: "extent size",
                found: most.to_string(),
                expected: format!("at least a block, {block}"),
            });
        }
        let Some(size) = self.compression.packed_pcluster else { return Ok(()) };
        if self.compression.fragments == Fragments::None {
            return Err(BuildError::Option {
                option: "pcluster size of the packed inode",
                found: size.to_string(),
                expected: "it needs fragments".into(),
            });
        }
        self.check_pcluster(size)
    }

    fn check_pcluster(&self, size: u32) -> Result<(), BuildError> {
        let block = self.layout.block.size();
        if size < block || !size.is_multiple_of(block) || size > MAX_PCLUSTER.min(block << 8) {
            return Err(BuildError::Option {
                option: "pcluster size",
                found: size.to_string(),
                expected: format!(
                    "a multiple of the block size, {block}, up to {}",
                    MAX_PCLUSTER.min(block << 8)
                ),
            });
        }
        if size > block {
            return self.require_for(Capability::BigPcluster, || {
                format!("a pcluster of {size} bytes, more than a block,")
            });
        }
        Ok(())
    }
}

/// HEAD1 and HEAD2 select one of two algorithms: levels of the same algorithm have the same type.
fn check_second(rule: &Rule) -> Result<(), BuildError> {
    let first = rule.compression.map(|compression| algorithm_of(compression.compressor));
    match rule.second {
        Some(second) if first.is_none_or(|first| first == algorithm_of(second)) => {
            Err(BuildError::Option {
                option: "second compressor",
                found: second.to_string(),
                expected: "one of another algorithm than the first".into(),
            })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use lith_format::kernel::KernelVersion;

    use lith_codec::Compressor;

    use super::*;
    use crate::{Compression, CompressionOptions};

    fn with_pcluster(pcluster: Option<u32>, kernel: KernelVersion) -> Options {
        let compressor = Compressor::Lz4;
        let files = Some(Compression { compressor, pcluster, min_saving: 0 });
        let compression = CompressionOptions { files, ..CompressionOptions::default() };
        Options { compression, kernel, ..Options::uncompressed() }
    }

    fn pcluster_of(options: &Options) -> u32 {
        options.coding(&options.compression.files.unwrap()).pcluster
    }

    #[test]
    fn an_old_kernel_clamps_the_default_and_refuses_what_is_given() {
        let old = KernelVersion::new(5, 4);
        assert_eq!(pcluster_of(&with_pcluster(None, old)), 4096);
        assert!(with_pcluster(None, old).check().is_ok());
        let refused = with_pcluster(Some(65536), old).check().unwrap_err().to_string();
        assert!(refused.contains("65536") && refused.contains("5.13"), "{refused}");
        assert!(with_pcluster(Some(65536), KernelVersion::new(6, 1)).check().is_ok());
        for wrong in [0, 100, 4097, 2 << 20] {
            assert!(with_pcluster(Some(wrong), KernelVersion::new(6, 1)).check().is_err());
        }
    }
}
