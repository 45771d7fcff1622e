//! Which extended attributes have a place in the format?

/// The namespaces whose attributes have any name.
const PREFIXES: [&[u8]; 3] = [b"user.", b"trusted.", b"security."];

/// The access ACL's attribute.
pub(crate) const ACL_ACCESS: &[u8] = b"system.posix_acl_access";
/// The default ACL's attribute.
pub(crate) const ACL_DEFAULT: &[u8] = b"system.posix_acl_default";

/// Whether an attribute of this name can be kept: `user.`, `trusted.` and `security.` with something
/// behind, and the two POSIX ACLs.
pub(crate) fn is_kept(name: &[u8]) -> bool {
    let has_prefix = |prefix: &&[u8]| name.len() > prefix.len() && name.starts_with(prefix);
    name == ACL_ACCESS || name == ACL_DEFAULT || PREFIXES.iter().any(has_prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_has_an_index_in_the_format() {
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
