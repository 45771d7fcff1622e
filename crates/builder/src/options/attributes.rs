//! Defines [`AttributeOptions`]: how inodes and extended attributes are stored.

use lith_format::{
    kernel::Capability,
    xattr::{NAME_REST_MAX, PrefixTable, body_size_of},
};

use super::Options;
use crate::{
    BuildError,
    xattr_name::{long_prefix, whole_name},
};

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
    /// The full name of the extended attribute that holds digests of files' content, for the superblock. Linux hides it
    /// if it has no namespace, such as `erofs.fingerprint.v1`.
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

impl Options {
    /// Checks names and prefixes of extended attributes, and the space reserved for them.
    pub(super) fn check_attributes(&self) -> Result<(), BuildError> {
        let most = body_size_of(u16::MAX);
        if self.attributes.root_xattr_size > most {
            return Err(BuildError::Option {
                option: "size of the root's extended attributes",
                found: self.attributes.root_xattr_size.to_string(),
                expected: format!("at most {most} bytes"),
            });
        }
        let may_pack = self.longest_fragment() > 0 && self.xattr_prefix_count() > 0;
        if self.attributes.plain_xattr_prefixes && may_pack {
            self.require(Capability::PlainXattrPrefixes)?;
        }
        self.check_prefixes()
    }

    fn check_prefixes(&self) -> Result<(), BuildError> {
        let count = self.xattr_prefix_count();
        if count == 0 {
            return Ok(());
        }
        self.require(Capability::LongXattrPrefixes)?;
        if count > PrefixTable::MAX_COUNT {
            return Err(BuildError::Option {
                option: "xattr prefix",
                found: format!("number {count}"),
                expected: "there are at most 128".into(),
            });
        }
        let is_sound = |prefix: &&Vec<u8>| {
            long_prefix(prefix).is_some_and(|long| long.infix.len() <= NAME_REST_MAX)
        };
        let wrong = self.attributes.xattr_prefixes.iter().find(|prefix| !is_sound(prefix));
        if let Some(wrong) = wrong {
            return Err(BuildError::Option {
                option: "xattr prefix",
                found: String::from_utf8_lossy(wrong).into_owned(),
                expected: "user., trusted. or security. followed by at most 255 bytes".into(),
            });
        }
        let name = self.attributes.digest_xattr.as_ref();
        match name.filter(|name| whole_name(name).is_none()) {
            Some(wrong) => Err(BuildError::Option {
                option: "name of digests",
                found: format!("{:?}", String::from_utf8_lossy(wrong)),
                expected: "a namespace followed by 1 to 255 bytes, and not an ACL's name".into(),
            }),
            None => Ok(()),
        }
    }

    /// How many long prefixes there can be; the name of digests is one.
    fn xattr_prefix_count(&self) -> usize {
        let attributes = &self.attributes;
        attributes.xattr_prefixes.len() + usize::from(attributes.digest_xattr.is_some())
    }

    /// Whether long prefixes are stored outside the packed inode even if there is one.
    pub(crate) fn has_plain_prefixes(&self) -> bool {
        self.attributes.plain_xattr_prefixes
            || self.kernel.supports(&[Capability::PlainXattrPrefixes])
    }

    /// Whether an inode's time is replaced by the image's where that makes the inode compact.
    pub(crate) fn ignores_mtime(&self) -> bool {
        self.attributes.ignore_mtime || self.attributes.inode_form == InodeForm::Compact
    }
}
