//! Lists what not every kernel supports, with the first release that does.
//!
//! Messages and help texts read the versions here, and a test compares the guide with them. A row
//! cites the commit with which Linux reads it, as listed in the EROFS pull request for that release
//! (linux-erofs@lists.ozlabs.org). EROFS left staging with 5.4; no earlier release counts.

use core::fmt;

use super::version::KernelVersion;

/// Defines [`Capability`] and its table by one row for each: release, noun phrase, source.
macro_rules! capabilities {
    ($($(#[doc = $doc:literal])* $name:ident: ($major:literal, $minor:literal), $noun:literal, $source:literal;)*) => {
        /// A part of the format, or a way to mount, that not every kernel supports.
        ///
        /// As text it is a noun phrase, such as `a packed inode`.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[non_exhaustive]
        pub enum Capability {
            $(
                $(#[doc = $doc])*
                #[doc = ""]
                #[doc = $source]
                $name,
            )*
        }

        impl Capability {
            /// All capabilities, the oldest first.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            const fn row(self) -> Row {
                match self {
                    $(Self::$name => Row {
                        since: KernelVersion::new($major, $minor),
                        noun: $noun,
                        source: $source,
                    },)*
                }
            }
        }
    };
}

struct Row {
    since: KernelVersion,
    noun: &'static str,
    source: &'static str,
}

capabilities! {
    /// EROFS itself: plain files with inline tails, compact and extended inodes, shared xattrs.
    Erofs: (5, 4), "EROFS", "Commit \"erofs: move erofs out of staging\".";
    /// LZ4 in pclusters of one block, with compact or full indexes (`LZ4_0PADDING`).
    Lz4: (5, 4), "lz4 compression",
        "Commit \"staging: erofs: introduce LZ4 decompression inplace\" (5.3, staging).";
    /// The superblock's checksum (`SB_CHKSUM`); older kernels ignore it.
    SuperblockChecksum: (5, 5), "a checksum of the superblock",
        "Commit \"erofs: support superblock checksum\".";
    /// Pclusters of several blocks, and config records (`BIG_PCLUSTER`, `COMPR_CFGS`).
    BigPcluster: (5, 13), "a pcluster of several blocks",
        "Commits \"erofs: add on-disk compression configurations\" and \
         \"erofs: enable big pcluster feature\".";
    /// Chunk-based files, which can have holes and share blocks (`CHUNKED_FILE`).
    Chunks: (5, 15), "a file in chunks",
        "Commit \"erofs: support reading chunk-based uncompressed files\".";
    /// Extra devices (`DEVICE_TABLE`).
    Devices: (5, 16), "an image on several devices",
        "Commit \"erofs: add multiple device support\".";
    /// HEAD2: a second algorithm in one file (`COMPR_HEAD2`).
    Head2: (5, 16), "a file of two algorithms",
        "Commit \"erofs: introduce the secondary compression head\".";
    /// `MicroLZMA`.
    Lzma: (5, 16), "lzma compression", "Commit \"erofs: lzma compression support\".";
    /// The last pcluster of a file inline, after its inode (`ZTAILPACKING`).
    Ztailpacking: (5, 17), "a pcluster beside an inode",
        "Commit \"erofs: support inline data decompression\".";
    /// Inode times are called modification times (`MTIME`). All kernels return them as such.
    Mtime: (5, 18), "modification times", "Commit \"erofs: rename ctime to mtime\".";
    /// Fragments in the packed inode (`FRAGMENTS`).
    Fragments: (6, 1), "a packed inode",
        "Commit \"erofs: support on-disk compressed fragments data\".";
    /// Uncompressed extents rotated within their blocks (`INTERLACED_PCLUSTER`).
    Interlaced: (6, 1), "an interlaced pcluster",
        "Commit \"erofs: support interlaced uncompressed data for compressed files\".";
    /// Pclusters of which an extent decodes only the beginning (`DEDUPE`, `PARTIAL_REF`).
    PartialReferences: (6, 1), "a pcluster of several extents",
        "Commit \"erofs: introduce partial-referenced pclusters\".";
    /// Blocks smaller than the page size, in images without compression.
    SubPageBlocks: (6, 4), "blocks smaller than pages",
        "Commit \"erofs: set block size to the on-disk block size\".";
    /// Xattr name prefixes that are stored once for an image (`XATTR_PREFIXES`).
    LongXattrPrefixes: (6, 4), "a long prefix of extended attributes",
        "Commit \"erofs: enable long extended attribute name prefixes\".";
    /// Extra devices concatenated to the primary one, mounted without `device=`.
    FlatDevices: (6, 4), "extra devices after the primary one",
        "Commits \"erofs: support flattened block device for multi-blob images\" and, for devices \
         without a tag, \"erofs: allow empty device tags in flatdev mode\" (6.6).";
    /// The name filter of xattr bodies (`XATTR_FILTER`); older kernels ignore it.
    XattrFilter: (6, 6), "a filter of xattr names",
        "Commit \"erofs: boost negative xattr lookup with bloom filter\".";
    /// Raw DEFLATE.
    Deflate: (6, 6), "deflate compression", "Commit \"erofs: DEFLATE compression support\".";
    /// Blocks smaller than the page size, with compression.
    SubPageCompressedBlocks: (6, 8), "compression in blocks smaller than pages",
        "Commit \"erofs: enable sub-page compressed block support\".";
    /// Zstandard.
    Zstd: (6, 10), "zstd compression", "Commit \"erofs: Zstandard compression support\".";
    /// Mounting a regular file without a loop device.
    FileBackedMount: (6, 12), "a mount of a regular file",
        "Commit \"erofs: add file-backed mount support\".";
    /// 48-bit addresses and the 64-bit root NID (`48BIT`).
    Bits48: (6, 15), "the 48-bit layout", "Commit \"erofs: enable 48-bit layout support\".";
    /// Compact inodes with a modification time of their own.
    CompactMtime: (6, 15), "a compact inode with a time of its own",
        "Commit \"erofs: implement 48-bit block addressing for unencoded inodes\".";
    /// Directories without an entry `.` (`DOT_OMITTED`).
    DotOmitted: (6, 15), "a directory without an entry `.`",
        "Commit \"erofs: support dot-omitted directories\".";
    /// Extent records: an index entry for each pcluster.
    ExtentRecords: (6, 15), "an index of extent records",
        "Commit \"erofs: implement encoded extent metadata\".";
    /// Mounting an image that starts within its device (`fsoffset=`).
    FsOffset: (6, 16), "an image inside a file",
        "Commit \"erofs: add 'fsoffset' mount option to specify filesystem offset\".";
    /// Inodes in the metabox, which may be compressed (`METABOX`).
    Metabox: (6, 17), "compressed metadata", "Commit \"erofs: implement metadata compression\".";
    /// Shared xattrs in the metabox (`SHARED_EA_IN_METABOX`).
    SharedXattrsInMetabox: (6, 17), "shared xattrs in the metabox",
        "Commit \"erofs: implement metadata compression\".";
    /// Long xattr prefixes outside of the packed inode although there is one (`PLAIN_XATTR_PFX`).
    /// Older kernels search the packed inode for them.
    PlainXattrPrefixes: (6, 17),
        "a long prefix of extended attributes outside of the packed inode",
        "Commit \"erofs: fix long xattr name prefix placement\".";
    /// Page cache shared between images by a fingerprint xattr (`ISHARE_XATTRS`); older kernels
    /// ignore it.
    PageCacheSharing: (7, 0), "a page cache shared between images",
        "Commit \"erofs: introduce the page cache share feature\".";
}

impl Capability {
    /// The first kernel that supports it.
    #[must_use]
    pub const fn since(self) -> KernelVersion {
        self.row().since
    }

    /// Why that kernel: the commit that added it to Linux.
    #[must_use]
    pub const fn source(self) -> &'static str {
        self.row().source
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().noun)
    }
}

impl KernelVersion {
    /// The first kernel with EROFS outside of staging.
    pub const OLDEST: Self = Capability::Erofs.since();

    /// The oldest kernel that images are built for by default: the first long-term release with
    /// fragments, that of Debian 12.
    pub const DEFAULT: Self = Capability::Fragments.since();

    /// Whether this kernel supports all of `capabilities`.
    #[must_use]
    pub fn supports(self, capabilities: &[Capability]) -> bool {
        capabilities.iter().all(|capability| self >= capability.since())
    }
}

#[cfg(test)]
mod tests {
    use std::{string::ToString, vec::Vec};

    use super::*;

    #[test]
    fn the_table_is_sorted_and_each_row_is_complete() {
        assert!(Capability::ALL.is_sorted_by_key(|capability| capability.since()));
        for capability in Capability::ALL {
            assert!(!capability.to_string().is_empty(), "{capability:?}");
            assert!(capability.source().ends_with('.'), "{capability:?}");
        }
        let mut nouns: Vec<_> = Capability::ALL.iter().map(ToString::to_string).collect();
        nouns.sort();
        nouns.dedup();
        assert_eq!(nouns.len(), Capability::ALL.len(), "each has a noun of its own");
    }

    #[test]
    fn a_kernel_supports_what_came_with_it_or_earlier() {
        let kernel = Capability::Devices.since();
        assert!(kernel.supports(&[Capability::Devices, Capability::Chunks]));
        assert!(!kernel.supports(&[Capability::Devices, Capability::Ztailpacking]));
        assert!(KernelVersion::OLDEST.supports(&[]));
    }
}
