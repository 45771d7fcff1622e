//! Derives what the build needs from [`Options`]: codings, encodings, limits.

use std::iter;

use lith_format::{compression::Algorithm, kernel::Capability, zmap::MAX_EXTENT_LEN};

use super::{
    all::Options,
    attributes::InodeForm,
    compression::{CompressionOptions, Fragments, Heat, IndexForm},
    layout::LayoutOptions,
    method::Compression,
    rule::Rule,
};
use crate::{
    coding::{Coding, Encoding, algorithm_of},
    limits::MOST_ENCODERS,
};

/// The pcluster size for kernels that read more than one block.
const DEFAULT_PCLUSTER: u32 = 64 << 10;

impl Options {
    /// Whether long prefixes are stored outside the packed inode even if there is one.
    pub(crate) fn has_plain_prefixes(&self) -> bool {
        self.attributes.plain_xattr_prefixes
            || self.kernel.supports(&[Capability::PlainXattrPrefixes])
    }

    /// Whether an inode's time is replaced by the image's where that makes the inode compact.
    pub(crate) fn ignores_mtime(&self) -> bool {
        self.attributes.ignore_mtime || self.attributes.inode_form == InodeForm::Compact
    }

    /// Whether files can have holes.
    pub(crate) fn has_holes(&self) -> bool {
        self.kernel.supports(&[Capability::Chunks])
    }

    /// The image's own compression, that of inodes, those of the rules and that of what is read first.
    pub(super) fn compressions(&self) -> impl Iterator<Item = &Compression> {
        let CompressionOptions { files, rules, metabox, hot, .. } = &self.compression;
        let rules = rules.iter().filter_map(|rule| rule.compression.as_ref());
        let hot = hot.iter().filter_map(|hot| match hot {
            Heat::Raw => None,
            Heat::Compressed(compression) => Some(compression),
        });
        files.iter().chain(metabox).chain(rules).chain(hot)
    }

    /// The coding of what is read first, if it differs from that of files. `Some(None)`: it is stored uncompressed.
    #[expect(clippy::option_option, reason = "one for another coding, one for none")]
    pub(crate) fn hot_coding(&self) -> Option<Option<Coding>> {
        let files = self.coding(self.compression.files.as_ref()?);
        let hot = match self.compression.hot? {
            Heat::Raw => None,
            Heat::Compressed(compression) => Some(self.coding(&compression)),
        };
        (hot != Some(files)).then_some(hot)
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

    /// Whether the kernels for which the image is made accept several references to a pcluster anyway.
    pub(crate) fn has_fragments(&self) -> bool {
        self.compression.fragments != Fragments::None
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
            .chain(rules.iter().filter_map(|rule| self.coding_by(rule)))
            .chain(self.hot_coding().flatten());
        codings.flat_map(|Coding { compressor, second, pcluster, .. }| {
            let both = iter::once(compressor).chain(second);
            both.map(move |compressor| Encoding { compressor, pcluster })
        })
    }

    /// About how many bytes of memory the encoders of one worker take at most, which keeps those of a few codings. The
    /// packed inode and the metabox are stored after all files, with encoders of their own.
    #[must_use]
    pub fn encoder_memory(&self) -> u64 {
        let of = |Coding { compressor, second, pcluster, .. }: Coding| -> u64 {
            let both = iter::once(compressor).chain(second);
            both.map(|compressor| compressor.encoder_memory(pcluster)).sum()
        };
        let CompressionOptions { files, rules, metabox, .. } = &self.compression;
        let by_rules = rules.iter().filter_map(|rule| self.coding_by(rule));
        let of_files = files.iter().map(|own| self.coding(own)).chain(by_rules).map(of);
        let mut of_files: Vec<_> = of_files.collect();
        of_files.sort_unstable();
        let of_files = of_files.iter().rev().take(MOST_ENCODERS).sum();
        let others = metabox.iter().map(|own| self.coding(own)).chain(self.packed_coding());
        others.map(of).fold(of_files, u64::max)
    }

    /// The algorithms that files and inodes can be compressed with, some of them more than once.
    pub fn algorithms(&self) -> impl Iterator<Item = Algorithm> {
        self.encodings().map(|encoding| algorithm_of(encoding.compressor))
    }

    /// Whether the image has compression configs: all algorithms need one, except LZ4 in pclusters of one block.
    pub(crate) fn has_configs(&self) -> bool {
        self.encodings().any(|Encoding { compressor, pcluster }| {
            algorithm_of(compressor) != Algorithm::Lz4 || pcluster > self.layout.block.size()
        })
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
