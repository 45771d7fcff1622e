//! Can names of extended attributes be stored as is asked for?

use lith_format::{
    kernel::Capability,
    xattr::{NAME_REST_MAX, PrefixTable},
};

use super::Options;
use crate::{
    BuildError,
    plan::{long_prefix, whole_name},
};

impl Options {
    /// Says which name or beginning of names can't be, if one can't.
    pub(super) fn check_xattrs(&self) -> Result<(), BuildError> {
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
        if let Some(wrong) = self.xattr_prefixes.iter().find(|prefix| !is_sound(prefix)) {
            return Err(BuildError::Option {
                option: "xattr prefix",
                found: String::from_utf8_lossy(wrong).into_owned(),
                expected: "user., trusted. or security. with at most 255 bytes behind it".into(),
            });
        }
        match self.digest_xattr.as_ref().filter(|name| whole_name(name).is_none()) {
            Some(wrong) => Err(BuildError::Option {
                option: "name of digests",
                found: format!("{:?}", String::from_utf8_lossy(wrong)),
                expected: "1 to 255 bytes behind its namespace, and not an ACL's".into(),
            }),
            None => Ok(()),
        }
    }

    /// How many long prefixes there can be; the name of digests is one.
    pub(super) fn xattr_prefix_count(&self) -> usize {
        self.xattr_prefixes.len() + usize::from(self.digest_xattr.is_some())
    }
}
