//! Defines [`Rule`], which every sound image keeps, and [`Severity`].

use std::fmt;

/// How bad a finding is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Severity {
    /// Unusual, but all readers read the image correctly, except some kernels that the rule names.
    Warning,
    /// Undecided: the image uses a form or an algorithm that this version does not support.
    Unsupported,
    /// Something can't be read or is read wrongly, by this reader or by a kernel that should support the image.
    Error,
}

impl Severity {
    /// Its name in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Unsupported => "unsupported",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

macro_rules! rules {
    ($($name:ident $id:literal $severity:ident $description:literal;)*) => {
        /// A rule that every sound image keeps. Ids stay the same from version to version.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[non_exhaustive]
        pub enum Rule {
            $(#[doc = $description] $name,)*
        }

        impl Rule {
            /// All rules, in the order in which an image is examined.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The rule's stable id: lower-case words with hyphens.
            #[must_use]
            pub const fn id(self) -> &'static str {
                match self { $(Self::$name => $id,)* }
            }

            /// What the rule requires.
            #[must_use]
            pub const fn description(self) -> &'static str {
                match self { $(Self::$name => $description,)* }
            }

            /// How bad it is to break the rule.
            #[must_use]
            pub const fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)* }
            }
        }
    };
}

rules! {
    SbChecksum "sb-checksum" Error
        "The superblock's checksum is that of block 0.";
    SbInvalid "sb-invalid" Error
        "The superblock's fields are possible.";
    SbUnsupported "sb-unsupported" Unsupported
        "The superblock requires known features and algorithms only.";
    SbConfigs "sb-configs" Error
        "The config records of the algorithms are whole and possible.";
    SbPrefixes "sb-prefixes" Error
        "The table of long xattr name prefixes is whole.";
    SbRoot "sb-root" Error
        "The root is a directory.";
    SbSpecialInode "sb-special-inode" Error
        "The packed and the metabox inode are regular files.";
    SbBlocks "sb-blocks" Error
        "A device is at least as long as the superblock or its slot of the device table requires.";
    SbInos "sb-inos" Warning
        "The superblock's number of inodes is right.";
    SbLabel "sb-label" Warning
        "The volume name ends with a NUL: older kernels refuse to mount it otherwise.";
    DeviceTable "device-table" Error
        "The device table is whole, and its devices don't overlap.";
    BasesMisplaced "bases-misplaced" Error
        "The bases that follow the image on its device are there, after all that it has itself.";
    FeatureUndeclared "feature-undeclared" Error
        "A feature that the image uses is declared: otherwise kernels without it misread the image.";
    ChunksUndeclared "chunks-undeclared" Warning
        "Chunks are declared; readers that support chunks don't need it, and mkcomposefs never declares them.";
    FeatureUnused "feature-unused" Warning
        "A declared feature is used: otherwise it excludes older kernels for no reason.";
    AlgorithmUnused "algorithm-unused" Warning
        "A declared algorithm is used: otherwise kernels without it refuse the image for no reason.";
    AlgorithmUndeclared "algorithm-undeclared" Error
        "An algorithm that is used is declared.";
    PclusterUndeclared "pcluster-undeclared" Error
        "No LZ4 pcluster is larger than the largest that is declared: kernels size their buffers by it.";
    DirBlock "dir-block" Error
        "A directory block locates its names, and these are valid.";
    DirSize "dir-size" Error
        "A directory's size is possible.";
    DirUnsorted "dir-unsorted" Error
        "The names of a directory ascend: otherwise lookups fail.";
    DirDuplicate "dir-duplicate" Error
        "A name occurs once in a directory.";
    DirDot "dir-dot" Error
        "A directory has `.`, unless declared as omitted, and it refers to the directory.";
    DirDotDot "dir-dot-dot" Error
        "A directory has `..`, and it refers to the parent.";
    DirType "dir-type" Error
        "The file type in a directory entry is that of the inode.";
    DirTypeUnknown "dir-type-unknown" Warning
        "A directory entry gives a file type.";
    DirLoop "dir-loop" Error
        "A directory has one name, and does not contain itself.";
    DirPadding "dir-padding" Warning
        "Nothing but zeros follows the last name of a directory block.";
    InodeUnreadable "inode-unreadable" Error
        "A name refers to an inode that can be read.";
    InodeUnsupported "inode-unsupported" Unsupported
        "An inode has a form that is known.";
    InodeOverlap "inode-overlap" Error
        "Inodes, with their xattrs, maps and inline data, don't overlap.";
    InodeSpecial "inode-special" Warning
        "Devices, pipes and sockets have size 0 and layout 0.";
    InodeTime "inode-time" Warning
        "The nanoseconds of a time are less than a second.";
    InodeBlocks "inode-blocks" Warning
        "A compressed inode's number of blocks is right; shared blocks may be left out.";
    NlinkWrong "nlink-wrong" Error
        "An inode's link count is right.";
    ReservedSet "reserved-set" Warning
        "Reserved fields are zero.";
    SymlinkTarget "symlink-target" Error
        "A symlink's target has 1 to 4095 bytes and no NUL.";
    XattrDamaged "xattr-damaged" Error
        "Xattrs are whole.";
    XattrShared "xattr-shared" Error
        "The id of a shared xattr refers to one.";
    XattrHidden "xattr-hidden" Warning
        "Linux shows each shared xattr: from 6.17 on, not those that are outside of the metabox in a page whose index is that of the inode's own xattrs.";
    XattrDuplicate "xattr-duplicate" Error
        "An xattr occurs once in an inode.";
    XattrFilter "xattr-filter" Error
        "The name filter hides none of the inode's xattrs.";
    XattrPrefix "xattr-prefix" Warning
        "The prefix of an xattr's name is known: otherwise readers ignore the xattr.";
    XattrAcl "xattr-acl" Error
        "A POSIX ACL has the form that Linux reads.";
    MapDamaged "map-damaged" Error
        "An inode's map locates each byte.";
    IndexWrong "index-wrong" Error
        "The distances in an index table lead to the preceding and the following HEAD.";
    IndexZero "index-zero" Warning
        "No distance ahead in an index table is 0, as in images from before erofs-utils 1.0.";
    MapUnsupported "map-unsupported" Unsupported
        "An inode's map has a form that is known, and sizes that kernels read.";
    InlineCrossesBlock "inline-crosses-block" Error
        "Inline data doesn't cross a block boundary.";
    InterlacedInline "interlaced-inline" Error
        "No plain inline tail is in an interlaced inode: many kernels misread it.";
    ExtentNotSmaller "extent-not-smaller" Error
        "A compressed extent before the end of a file is larger than its pcluster: newer kernels refuse others.";
    ExtentOutside "extent-outside" Error
        "Data is stored before the end of its device.";
    ExtentInMetadata "extent-in-metadata" Error
        "Data is not stored where the superblock or an inode is.";
    ExtentOverlap "extent-overlap" Error
        "Extents don't overlap, unless they are equal and share their data.";
    ExtentsAdjoin "extents-adjoin" Warning
        "Of two pclusters of a file that follow each other, none starts on its device at the block at which the other ends on another one: Linux (seen with 6.18) reads wrong bytes then if devices are files.";
    FragmentOutside "fragment-outside" Error
        "A fragment is within the packed inode.";
    DataUndecodable "data-undecodable" Error
        "A pcluster decodes to the bytes that its extent has.";
    DeviceFailed "device-failed" Error
        "A device can be read.";
    WorkLimit "work-limit" Error
        "The image can be examined with an effort that its size justifies.";
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_are_unique_words_with_hyphens() {
        let ids: HashSet<_> = Rule::ALL.iter().map(|rule| rule.id()).collect();
        assert_eq!(ids.len(), Rule::ALL.len());
        for rule in Rule::ALL {
            let plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
            assert!(rule.id().bytes().all(plain), "{rule}");
            assert!(rule.description().ends_with('.'), "{rule}");
        }
    }
}
