//! Defines [`CompressionOptions`]: how files, the packed inode and metadata are compressed.

use std::iter;

use lith_format::{compression::Algorithm, kernel::Capability, zmap::MAX_EXTENT_LEN};

use super::{Options, method::Compression};
use crate::{
    BuildError, Rule,
    coding::{Coding, Encoding, algorithm_of},
};

/// Which form of index a compressed file has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexForm {
    /// Compact: about 2 bytes for each lcluster.
    #[default]
    Compact,
    /// Full: 8 bytes for each lcluster.
    Full,
    /// Extent records: 16 or 32 bytes for each pcluster, in the 48-bit layout only. Files with an inline last pcluster
    /// have compact indexes.
    Records,
}

/// Which parts of files are stored in the packed inode, where they share pclusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fragments {
    /// None.
    #[default]
    None,
    /// The end of a file, at most a pcluster's size of it: small files whole.
    Tails,
    /// All files whole.
    All,
}

/// How files, the packed inode and metadata are compressed.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CompressionOptions {
    /// The compression of files. `None`: they are stored uncompressed.
    pub files: Option<Compression>,
    /// Files with another compression, by the first rule that matches. The packed inode is compressed like
    /// [`files`](Self::files), so other files have no fragments.
    pub rules: Vec<Rule>,
    /// Which parts of compressed files are stored in the packed inode.
    pub fragments: Fragments,
    /// The largest size of a pcluster of the packed inode in bytes. `None`: as for files.
    pub packed_pcluster: Option<u32>,
    /// The largest decoded size of an extent in bytes, at least a block. `None`: as much as fits the pcluster.
    pub max_extent: Option<u32>,
    /// The compression of inodes and what is stored next to them, in the metabox inode. `None`: they are uncompressed.
    pub metabox: Option<Compression>,
    /// Whether directories that have blocks of their own are stored in the packed inode instead. Needs fragments and a
    /// metabox.
    pub pack_directories: bool,
    /// Whether the last pcluster of a file is stored inline next to its inode where it fits (ztailpacking).
    pub tail_packing: bool,
    /// Whether repeated parts of files, within one file or across files, are stored once.
    pub dedupe: bool,
    /// The index form of compressed files.
    pub index: IndexForm,
}

/// The largest pcluster that kernels read.
const MAX_PCLUSTER: u32 = 1 << 20;
/// The pcluster size for kernels that read more than one block.
const DEFAULT_PCLUSTER: u32 = 64 << 10;

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

    /// The image's own compression, that of inodes and those of the rules.
    pub(super) fn compressions(&self) -> impl Iterator<Item = &Compression> {
        let CompressionOptions { files, rules, metabox, .. } = &self.compression;
        let rules = rules.iter().filter_map(|rule| rule.compression.as_ref());
        files.iter().chain(metabox).chain(rules)
    }

    /// A compression with its pcluster size: the default for the target kernel if none is given.
    pub(crate) fn coding(&self, compression: &Compression) -> Coding {
        let Compression { compressor, pcluster, min_saving } = *compression;
        let block = self.layout.block.size();
        let default = if self.kernel.supports(&[Capability::BigPcluster]) {
            DEFAULT_PCLUSTER.clamp(block, block << 8)
        } else {
            block
        };
        Coding { compressor, second: None, pcluster: pcluster.unwrap_or(default), min_saving }
    }

    /// The coding of the files of a rule. `None`: they are stored uncompressed.
    pub(crate) fn coding_by(&self, rule: &Rule) -> Option<Coding> {
        let compression = rule.compression.as_ref()?;
        Some(Coding { second: rule.second, ..self.coding(compression) })
    }

    /// The coding of the packed inode, if it differs from that of files.
    pub(crate) fn packed_coding(&self) -> Option<Coding> {
        let CompressionOptions { files, fragments, packed_pcluster, .. } = &self.compression;
        let coding = self.coding(files.as_ref()?);
        let pcluster = packed_pcluster.filter(|_| *fragments != Fragments::None)?;
        Some(Coding { pcluster, ..coding })
    }

    /// The most bytes of a file's end that become a fragment.
    pub(crate) fn longest_fragment(&self) -> u64 {
        let Some(compression) = &self.compression.files else { return 0 };
        match self.compression.fragments {
            Fragments::None => 0,
            Fragments::Tails => self.coding(compression).pcluster.into(),
            Fragments::All => u64::MAX,
        }
    }

    /// The most bytes that an extent decodes to.
    pub(crate) fn longest_extent(&self) -> u64 {
        self.compression.max_extent.map_or(MAX_EXTENT_LEN, |most| MAX_EXTENT_LEN.min(most.into()))
    }

    /// All encodings that files and inodes can have.
    pub(crate) fn encodings(&self) -> impl Iterator<Item = Encoding> {
        let CompressionOptions { files, rules, metabox, .. } = &self.compression;
        let own = files.iter().chain(metabox).map(|own| self.coding(own));
        let codings = own
            .chain(self.packed_coding())
            .chain(rules.iter().filter_map(|rule| self.coding_by(rule)));
        codings.flat_map(|Coding { compressor, second, pcluster, .. }| {
            let both = iter::once(compressor).chain(second);
            both.map(move |compressor| Encoding { compressor, pcluster })
        })
    }

    /// Whether the image has compression configs: all algorithms need one, except LZ4 in pclusters of one block.
    pub(crate) fn has_configs(&self) -> bool {
        self.encodings().any(|Encoding { compressor, pcluster }| {
            algorithm_of(compressor) != Algorithm::Lz4 || pcluster > self.layout.block.size()
        })
    }
}

/// HEAD1 and HEAD2 stand for two algorithms: levels of the same algorithm can't be told apart.
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
