//! Checks how files, the packed inode and metadata are compressed.

use lith_format::{
    compression::{Algorithm, Lz4Config},
    kernel::Capability,
    zmap::MAX_PCLUSTER_BLOCKS,
};

use super::{all::Options, compression::Fragments, rule::Rule};
use crate::{
    BuildError,
    coding::{Encoding, algorithm_of},
};

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
        for Encoding { compressor, pcluster } in self.encodings() {
            let algorithm = algorithm_of(compressor);
            self.require(algorithm.capability())?;
            let limit = self.largest_pcluster(algorithm);
            if pcluster > limit {
                return Err(self.refused_pcluster(pcluster, limit));
            }
        }
        Ok(())
    }

    /// The largest pcluster that an index and the kernel's decoder of an algorithm take.
    fn largest_pcluster(&self, algorithm: Algorithm) -> u32 {
        let most = match algorithm {
            Algorithm::Lz4 => Lz4Config::MAX_PCLUSTER_BLOCKS,
            _ => MAX_PCLUSTER_BLOCKS,
        };
        MAX_PCLUSTER.min(self.layout.block.size() * u32::from(most))
    }

    fn refused_pcluster(&self, size: u32, limit: u32) -> BuildError {
        let block = self.layout.block.size();
        BuildError::Option {
            option: "pcluster size",
            found: size.to_string(),
            expected: format!("a multiple of the block size, {block}, up to {limit}"),
        }
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
        if size < block || !size.is_multiple_of(block) || size > MAX_PCLUSTER {
            return Err(self.refused_pcluster(size, MAX_PCLUSTER));
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
    use lith_format::{addr::BlockBits, kernel::KernelVersion};

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

    #[test]
    fn small_blocks_limit_the_pclusters_of_lz4_more_than_others() {
        let with = |compressor, pcluster| {
            let mut options = with_pcluster(Some(pcluster), KernelVersion::new(6, 18));
            options.layout.block = BlockBits::new(9).expect("512 bytes");
            options.compression.files =
                Some(Compression { compressor, pcluster: Some(pcluster), min_saving: 0 });
            options.check().map_err(|error| error.to_string())
        };
        let zstd: Compressor = "zstd,3".parse().expect("a compressor");
        assert_eq!(with(Compressor::Lz4, 128 << 10), Ok(()));
        let refused = with(Compressor::Lz4, (128 << 10) + 512).unwrap_err();
        assert!(refused.ends_with("512, up to 131072"), "{refused}");
        assert_eq!(with(zstd, (1 << 20) - 512), Ok(()));
        let refused = with(zstd, 1 << 20).unwrap_err();
        assert!(refused.ends_with("512, up to 1048064"), "{refused}");
    }
}
