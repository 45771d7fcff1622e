//! Splits names of extended attributes, and prefixes of them, into the parts that the format stores.

use lith_format::xattr::{LongPrefix, NAME_REST_MAX, ShortPrefix, XattrName};

/// Splits a prefix; `None` if no attribute that Linux shows can start with it.
pub(crate) fn long_prefix(prefix: &[u8]) -> Option<LongPrefix> {
    let name = XattrName::split(prefix).filter(|name| !name.base.is_whole_name())?;
    Some(LongPrefix { base: name.base.to_raw(), infix: name.rest.to_vec() })
}

/// A prefix that is the whole name of an attribute, which Linux may hide; `None` if no attribute can have that name.
pub(crate) fn whole_name(full: &[u8]) -> Option<LongPrefix> {
    let hidden = XattrName { base: ShortPrefix::Hidden, infix: b"", rest: full };
    let name = XattrName::split(full).unwrap_or(hidden);
    let can_be = !name.base.is_whole_name()
        && (1..=NAME_REST_MAX).contains(&name.rest.len())
        && !full.contains(&0);
    can_be.then(|| LongPrefix { base: name.base.to_raw(), infix: name.rest.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn not_every_name_can_be_that_of_digests() {
        let long = [b"user.", [b'x'; 255].as_slice()].concat();
        for name in [b"user.d", b"d".as_slice(), b"system.other", &long] {
            assert!(whole_name(name).is_some(), "{}", name.escape_ascii());
        }
        let longer = [&long[..], b"x"].concat();
        for name in [b"", b"user.".as_slice(), b"a\0b", b"system.posix_acl_access", &longer] {
            assert!(whole_name(name).is_none(), "{}", name.escape_ascii());
        }
    }
}
