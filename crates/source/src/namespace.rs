//! Decides which extended attributes the format can store.

/// The namespaces whose attributes may have any name.
const PREFIXES: [&[u8]; 3] = [b"user.", b"trusted.", b"security."];

/// The attribute of the access ACL.
pub(crate) const ACL_ACCESS: &[u8] = b"system.posix_acl_access";
/// The attribute of the default ACL.
pub(crate) const ACL_DEFAULT: &[u8] = b"system.posix_acl_default";

/// Whether the format can store an attribute of this name: `user.`, `trusted.` or `security.` and at least one more byte, or
/// one of the two POSIX ACLs.
pub(crate) fn is_kept(name: &[u8]) -> bool {
    let has_prefix = |prefix: &&[u8]| name.len() > prefix.len() && name.starts_with(prefix);
    name == ACL_ACCESS || name == ACL_DEFAULT || PREFIXES.iter().any(has_prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_an_index_in_the_format_are_kept() {
        for name in
            ["user.a", "trusted.overlay.opaque", "security.selinux", "system.posix_acl_access"]
        {
            assert!(is_kept(name.as_bytes()), "{name}");
        }
        for name in ["user.", "system.nfs4_acl", "btrfs.x", "", "users.a"] {
            assert!(!is_kept(name.as_bytes()), "{name}");
        }
    }
}
