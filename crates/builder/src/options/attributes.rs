//! Defines [`AttributeOptions`]: how inodes and extended attributes are stored.

/// Which form inodes have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InodeForm {
    /// Compact if the inode's values fit, else extended.
    #[default]
    Smallest,
    /// 32 bytes each. All have the image's time; a file whose other values don't fit is refused.
    Compact,
    /// 64 bytes each.
    Extended,
}

/// How inodes and extended attributes are stored.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AttributeOptions {
    /// Which form inodes have.
    pub inode_form: InodeForm,
    /// Whether an inode that is extended only because of its time becomes compact and takes the image's time.
    pub ignore_mtime: bool,
    /// The largest number of inodes that each store a copy of an extended attribute before it is stored once as a
    /// shared xattr. `None`: attributes are never shared.
    pub share_xattrs: Option<u32>,
    /// Whether inodes have name filters, by which readers know absent extended attributes without a search.
    pub xattr_filter: bool,
    /// Beginnings of xattr names to be stored once as long prefixes, such as `user.overlay.`.
    pub xattr_prefixes: Vec<Vec<u8>>,
    /// Whether long prefixes are stored outside the packed inode even if there is one (`PLAIN_XATTR_PFX`), which only
    /// newer kernels read. Implied if the target kernel reads it.
    pub plain_xattr_prefixes: bool,
    /// The full name of the extended attribute that holds digests of files' content, for the superblock; the attributes
    /// themselves are part of the tree. Linux hides it if it has no namespace, such as `erofs.fingerprint.v1`.
    pub digest_xattr: Option<Vec<u8>>,
    /// Bytes reserved next to the root inode for its extended attributes.
    pub root_xattr_size: usize,
}

impl Default for AttributeOptions {
    fn default() -> Self {
        Self {
            inode_form: InodeForm::Smallest,
            ignore_mtime: false,
            share_xattrs: Some(2),
            xattr_filter: true,
            xattr_prefixes: Vec::new(),
            plain_xattr_prefixes: false,
            digest_xattr: None,
            root_xattr_size: 0,
        }
    }
}
