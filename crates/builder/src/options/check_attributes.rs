//! Checks how inodes and extended attributes are stored.

use lith_format::{
    kernel::Capability,
    xattr::{NAME_REST_MAX, PrefixTable, body_size_of},
};

use super::all::Options;
use crate::{
    BuildError,
    xattr_name::{long_prefix, whole_name},
};

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
}
