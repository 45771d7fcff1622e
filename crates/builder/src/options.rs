//! What kind of image is asked for, and can the oldest kernel that shall mount it have that?

mod chunks;
mod layout;
mod xattrs;

use std::{
    fs::File,
    iter,
    num::NonZeroUsize,
    path::PathBuf,
    sync::{Arc, atomic::AtomicU64},
    thread,
};

use lith_codec::Compressor;
use lith_format::{
    addr::BlockBits,
    compression::Algorithm,
    kernel::{Capability, KernelVersion},
};
use lith_tree::Timestamp;

pub use self::layout::InodeForm;
use crate::{
    BuildError, Chunks, DataImport, Rule,
    codings::{Coding, Encoding},
};

/// Which form of index a compressed file has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexForm {
    /// About 2 bytes for each block of the file.
    #[default]
    Compact,
    /// 8 bytes for each block of the file.
    Full,
    /// 16 or 32 bytes for each pcluster, in the 48-bit layout only. Files that end beside their inodes are compact.
    Records,
}

/// Where an image's UUID comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ImageId {
    /// From all that the image holds: equal images have equal ids and different ones different ids.
    #[default]
    FromContent,
    /// As given.
    Fixed([u8; 16]),
}

/// How file content is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compression {
    /// Encoder and effort.
    pub compressor: Compressor,
    /// The largest size of a pcluster in bytes, a multiple of the block size; nothing for the best that
    /// the oldest kernel can read.
    pub pcluster: Option<u32>,
    /// The least part of a file that compression must save, in percent of its size. A file that saves
    /// less is stored plain.
    pub min_saving: u8,
}

/// Which parts of files lie in the packed inode, where they share pclusters with each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fragments {
    /// None.
    #[default]
    None,
    /// What is left at the end of a file when no more than a pcluster's bytes remain, which is all of a small file.
    Tails,
    /// All of every file.
    All,
}

/// What kind of image is asked for.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct Options {
    /// The block size.
    pub block: BlockBits,
    /// Compression; nothing to store all files plain.
    pub compression: Option<Compression>,
    /// Files with another compression, by the first rule that is for them. What lies in the packed inode has the
    /// image's own, so other files have no part there.
    pub rules: Vec<Rule>,
    /// What lies in the packed inode of a compressed image.
    pub fragments: Fragments,
    /// The largest size of a pcluster of the packed inode in bytes; nothing for that of files.
    pub packed_pcluster: Option<u32>,
    /// The most bytes that an extent decodes to, at least a block; nothing for as many as fit its pcluster.
    pub max_extent: Option<u32>,
    /// How inodes are compressed, with what lies beside them: in the metabox inode.
    pub metabox: Option<Compression>,
    /// Whether directories that have blocks of their own lie in the packed inode instead. That takes fragments and
    /// compressed inodes.
    pub pack_directories: bool,
    /// Whether the last pcluster of a compressed file lies beside its inode where there is room.
    pub tail_packing: bool,
    /// Whether the end of a file that is stored plain, less than a block, lies beside its inode where there is room.
    pub inline_data: bool,
    /// Which form inodes have.
    pub inode_form: InodeForm,
    /// Whether inodes that would be compact but for their times are, and show the image's time.
    pub ignore_mtime: bool,
    /// How files that are stored plain are cut into chunks, if they are.
    pub chunks: Option<Chunks>,
    /// The file that chunks are written to instead of the image, empty as that one: a device of its own, which readers
    /// of the image must have too.
    pub blob: Option<Arc<File>>,
    /// What the image has of the bytes of files.
    pub data: DataImport,
    /// Whether files, or chunks, with the same bytes are stored once.
    pub share_duplicates: bool,
    /// Whether stretches of compressed files that repeat, in one file or in several, are stored once.
    pub dedupe: bool,
    /// The index form of compressed files.
    pub index: IndexForm,
    /// Whether the image has the 48-bit layout: addresses beyond 2^32 blocks, compact inodes with times of their
    /// own, and extent records where they are the smallest index.
    pub wide: bool,
    /// Whether directories leave their entry `.` out, which only the 48-bit layout allows.
    pub dot_omitted: bool,
    /// The first block that file content may have; those before it stay free.
    pub data_start: u64,
    /// The blocks of each file begin at a multiple of so many blocks. In files of chunks each chunk does, unless it is
    /// smaller than that.
    pub alignment: u32,
    /// The image has a multiple of so many blocks.
    pub size_alignment: u64,
    /// What names of extended attributes begin with that is stored once for all of them, such as `user.overlay.`.
    pub xattr_prefixes: Vec<Vec<u8>>,
    /// Whether long prefixes lie outside of the packed inode even if there is one, where only newer kernels find them.
    /// For those they lie there anyway.
    pub plain_xattr_prefixes: bool,
    /// The whole name of the extended attribute that holds digests of files' content, as the image says. Without a
    /// namespace, such as `erofs.fingerprint.v1`, Linux does not show it.
    pub digest_xattr: Option<Vec<u8>>,
    /// The most inodes that have a copy each of an extended attribute before it is stored once for all of them; nothing
    /// to copy it always.
    pub share_xattrs: Option<u32>,
    /// Whether each inode tells which extended attributes it has not, so that it is quickly known.
    pub xattr_filter: bool,
    /// Bytes of extended attributes that the root has room for beside its inode.
    pub root_xattr_size: usize,
    /// Whether the superblock has a checksum.
    pub checksum: bool,
    /// The oldest kernel that shall mount the image.
    pub kernel: KernelVersion,
    /// When the image is said to be made; nothing for what suits the files' times best.
    pub build_time: Option<Timestamp>,
    /// The image's UUID.
    pub id: ImageId,
    /// The volume's name, at most 15 bytes.
    pub label: Vec<u8>,
    /// Threads that read and compress.
    pub workers: NonZeroUsize,
    /// Bytes of memory to use, apart from some hundred for each inode.
    pub memory: usize,
    /// Where temporary data goes that outgrows memory: beside the image.
    pub temporary: PathBuf,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            block: BlockBits::DEFAULT,
            compression: None,
            rules: Vec::new(),
            fragments: Fragments::None,
            packed_pcluster: None,
            max_extent: None,
            metabox: None,
            pack_directories: false,
            tail_packing: false,
            inline_data: true,
            inode_form: InodeForm::Smallest,
            ignore_mtime: false,
            chunks: None,
            blob: None,
            data: DataImport::Full,
            share_duplicates: true,
            dedupe: false,
            index: IndexForm::Compact,
            wide: false,
            dot_omitted: false,
            data_start: 0,
            alignment: 1,
            size_alignment: 1,
            xattr_prefixes: Vec::new(),
            plain_xattr_prefixes: false,
            digest_xattr: None,
            share_xattrs: Some(2),
            xattr_filter: true,
            root_xattr_size: 0,
            checksum: true,
            kernel: KernelVersion::DEFAULT,
            build_time: None,
            id: ImageId::FromContent,
            label: Vec::new(),
            workers: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            memory: Self::DEFAULT_MEMORY,
            temporary: PathBuf::from("."),
        }
    }
}

/// How far a build has come, for whoever watches.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes of file content that are in the image.
    pub bytes: AtomicU64,
    /// Bytes of file content in all; 0 until known.
    pub total: AtomicU64,
}

/// The largest pcluster that kernels read.
const MAX_PCLUSTER: u32 = 1 << 20;
/// The pcluster size for kernels that read more than one block.
const DEFAULT_PCLUSTER: u32 = 64 << 10;

/// The format's name for what an encoder writes.
pub(crate) const fn algorithm_of(compressor: Compressor) -> Algorithm {
    match compressor.algorithm() {
        lith_codec::Algorithm::Lz4 => Algorithm::Lz4,
        lith_codec::Algorithm::Lzma => Algorithm::Lzma,
        lith_codec::Algorithm::Deflate => Algorithm::Deflate,
        lith_codec::Algorithm::Zstd => Algorithm::Zstd,
    }
}

impl Options {
    /// Memory used when nothing else is said.
    pub const DEFAULT_MEMORY: usize = 160 << 20;

    /// Says why the options can't be, if so.
    ///
    /// # Errors
    /// [`BuildError::Kernel`] names what needs a newer kernel, [`BuildError::Option`] what the format does
    /// not allow.
    pub fn check(&self) -> Result<(), BuildError> {
        if self.label.len() > 15 || self.label.contains(&0) {
            return Err(BuildError::Option {
                option: "label",
                found: String::from_utf8_lossy(&self.label).into_owned(),
                expected: "at most 15 bytes without NUL".into(),
            });
        }
        self.check_block()?;
        self.check_xattrs()?;
        self.check_layout()?;
        if self.dot_omitted {
            self.require(Capability::DotOmitted)?;
        }
        if self.is_wide() {
            self.require(Capability::Bits48)?;
        }
        if self.fragments != Fragments::None {
            self.require(Capability::Fragments)?;
        }
        if self.dedupe {
            self.require(Capability::PartialReferences)?;
        }
        if self.tail_packing {
            self.require(Capability::Ztailpacking)?;
        }
        self.check_metabox()?;
        self.check_chunks()?;
        for compression in self.compressions() {
            compression.pcluster.map_or(Ok(()), |size| self.check_pcluster(size))?;
        }
        self.rules.iter().try_for_each(check_second)?;
        // Kernels that know two algorithms know HEAD2 as well.
        self.encodings()
            .try_for_each(|encoding| self.require(algorithm_of(encoding.compressor).capability()))
    }

    fn check_metabox(&self) -> Result<(), BuildError> {
        if self.metabox.is_some() {
            self.require(Capability::Metabox)?;
        }
        let can_pack = self.metabox.is_some() && self.longest_fragment() > 0;
        if self.pack_directories && !can_pack {
            return Err(BuildError::Option {
                option: "directory compression",
                found: "alone".into(),
                expected: "it needs compressed metadata and fragments".into(),
            });
        }
        Ok(())
    }

    /// The image's own compression, that of inodes and those of the rules.
    fn compressions(&self) -> impl Iterator<Item = &Compression> {
        let rules = self.rules.iter().filter_map(|rule| rule.compression.as_ref());
        self.compression.iter().chain(&self.metabox).chain(rules)
    }

    fn check_block(&self) -> Result<(), BuildError> {
        if self.block.bits() >= 12 {
            return Ok(());
        }
        let (what, needs) = match self.compressions().next() {
            None => ("blocks", Capability::SubPageBlocks),
            Some(_) => ("compression with blocks", Capability::SubPageCompressedBlocks),
        };
        self.require_for(needs, || format!("{what} of {} bytes", self.block.size()))
    }

    fn check_pcluster(&self, size: u32) -> Result<(), BuildError> {
        let block = self.block.size();
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

    /// Refuses a capability that the oldest kernel doesn't have.
    pub(crate) fn require(&self, needs: Capability) -> Result<(), BuildError> {
        self.require_for(needs, || needs.to_string())
    }

    /// The same where the error names the thing more precisely.
    fn require_for(
        &self,
        needs: Capability,
        what: impl FnOnce() -> String,
    ) -> Result<(), BuildError> {
        if self.kernel.supports(&[needs]) {
            return Ok(());
        }
        Err(BuildError::Kernel { what: what(), needs: needs.since(), kernel: self.kernel })
    }

    /// A compression with its pcluster size, the largest that suits all if nothing is said.
    pub(crate) fn coding(&self, compression: &Compression) -> Coding {
        let Compression { compressor, pcluster, min_saving } = *compression;
        let default = if self.kernel.supports(&[Capability::BigPcluster]) {
            DEFAULT_PCLUSTER.clamp(self.block.size(), self.block.size() << 8)
        } else {
            self.block.size()
        };
        Coding { compressor, second: None, pcluster: pcluster.unwrap_or(default), min_saving }
    }

    /// What a rule says.
    pub(crate) fn coding_by(&self, rule: &Rule) -> Option<Coding> {
        let compression = rule.compression.as_ref()?;
        Some(Coding { second: rule.second, ..self.coding(compression) })
    }

    /// The most bytes of a file's end that become a fragment.
    pub(crate) fn longest_fragment(&self) -> u64 {
        let Some(compression) = &self.compression else { return 0 };
        match self.fragments {
            Fragments::None => 0,
            Fragments::Tails => self.coding(compression).pcluster.into(),
            Fragments::All => u64::MAX,
        }
    }

    /// What files and inodes can be compressed by.
    pub(crate) fn encodings(&self) -> impl Iterator<Item = Encoding> {
        let own = self.compression.iter().chain(&self.metabox).map(|own| self.coding(own));
        let codings = own
            .chain(self.packed_coding())
            .chain(self.rules.iter().filter_map(|rule| self.coding_by(rule)));
        codings.flat_map(|Coding { compressor, second, pcluster, .. }| {
            let both = iter::once(compressor).chain(second);
            both.map(move |compressor| Encoding { compressor, pcluster })
        })
    }

    /// Whether readers are told of the algorithms' parameters: of all but those of LZ4 in pclusters of one block.
    pub(crate) fn has_configs(&self) -> bool {
        self.encodings().any(|Encoding { compressor, pcluster }| {
            algorithm_of(compressor) != Algorithm::Lz4 || pcluster > self.block.size()
        })
    }

    /// Whether the image has the 48-bit layout.
    pub(crate) const fn is_wide(&self) -> bool {
        let has_wide_parts = self.dot_omitted || self.metabox.is_some();
        self.wide || has_wide_parts || matches!(self.index, IndexForm::Records)
    }

    /// The most blocks that an image can have. The last two addresses mean other things.
    pub(crate) const fn most_blocks(&self) -> u64 {
        if self.is_wide() { (1 << 48) - 2 } else { u32::MAX as u64 - 1 }
    }

    /// Whether long prefixes can lie outside of the packed inode even if there is one.
    pub(crate) fn has_plain_prefixes(&self) -> bool {
        self.plain_xattr_prefixes || self.kernel.supports(&[Capability::PlainXattrPrefixes])
    }

    /// Whether files can have holes.
    pub(crate) fn has_holes(&self) -> bool {
        self.kernel.supports(&[Capability::Chunks])
    }
}

/// HEAD1 and HEAD2 are there for two algorithms: levels of the same one are not told apart.
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
    use super::*;

    fn with_pcluster(pcluster: Option<u32>, kernel: KernelVersion) -> Options {
        let compressor = Compressor::Lz4;
        let compression = Some(Compression { compressor, pcluster, min_saving: 0 });
        Options { compression, kernel, ..Options::default() }
    }

    fn pcluster_of(options: &Options) -> u32 {
        options.coding(&options.compression.unwrap()).pcluster
    }

    #[test]
    fn an_old_kernel_clamps_what_was_not_asked_for_and_refuses_what_was() {
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
    fn small_blocks_need_newer_kernels() {
        let block = BlockBits::new(9).unwrap();
        assert!(Options { block, ..Options::default() }.check().is_err());
        let kernel = KernelVersion::new(6, 4);
        assert!(Options { block, kernel, ..Options::default() }.check().is_ok());
    }
}
