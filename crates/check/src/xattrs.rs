//! Checks the xattrs of inodes.

use std::collections::HashMap;

use lith_format::{
    features::Compat,
    xattr::{
        BODY_HEADER_SIZE, ENTRY_HEADER_SIZE, Entry, ShortPrefix, XattrBody, entry_size,
        shared_position,
    },
};
use lith_reader::{Image, Inode, Space};
use lith_survey::Allowance;

use crate::{classify::Reading, findings::Log, raw::Raw, rule::Rule};

/// The size of pages on nearly all machines with EROFS.
const PAGE: u64 = 4096;

/// The xattrs of an image; each shared one is checked once.
#[derive(Debug)]
pub(crate) struct Xattrs {
    shared: HashMap<u32, SharedXattr>,
    /// Bytes that may still be read.
    allowance: Allowance,
}

/// A shared xattr by its id.
#[derive(Clone, Debug)]
enum SharedXattr {
    /// There is no valid xattr.
    Broken,
    /// Readers ignore it, or the budget was exhausted.
    Unknown,
    /// A valid xattr.
    Named(Named),
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Named {
    /// The full name; hidden xattrs lack the namespace.
    name: Vec<u8>,
    /// The bit of the name filter that must be clear.
    bit: u32,
}

/// The check of one inode's xattrs.
struct BodyCheck<'a, 'b> {
    image: &'a Image,
    log: &'a Log<'a>,
    raw: &'a mut Raw<'b>,
    inode: &'a Inode,
    names: Vec<Named>,
}

impl Xattrs {
    pub(crate) fn new(allowance: Allowance) -> Self {
        Self { shared: HashMap::new(), allowance }
    }

    /// Checks the xattrs of an inode.
    pub(crate) fn check(
        &mut self,
        image: &Image,
        log: &Log<'_>,
        raw: Option<&mut Raw<'_>>,
        inode: &Inode,
    ) {
        let size = inode.xattr_size();
        if size == 0 || !is_granted(&mut self.allowance, size, log, inode) {
            return;
        }
        match raw {
            Some(raw) => {
                let names = Vec::new();
                self.check_body(&mut BodyCheck { image, log, raw, inode, names });
            }
            None => {
                if let Err(error) = image.xattrs_with_hidden(inode) {
                    log.error(Reading::XATTRS, &error);
                }
            }
        }
    }

    fn check_body(&mut self, check: &mut BodyCheck<'_, '_>) {
        let Some(bytes) = check.body() else {
            return check.report(Rule::XattrDamaged, "its xattrs end after the metadata");
        };
        if bytes.get(5..BODY_HEADER_SIZE).is_some_and(|bytes| bytes.iter().any(|byte| *byte != 0)) {
            check.report(Rule::ReservedSet, "reserved bytes of the xattr body are set");
        }
        let body = match XattrBody::parse(&bytes) {
            Ok(body) => body,
            Err(error) if error.is_unsupported() => {
                return check.report(Rule::InodeUnsupported, &error.to_string());
            }
            Err(error) => return check.report(Rule::XattrDamaged, &error.to_string()),
        };
        for entry in body.entries() {
            match entry {
                Ok(entry) => check.see_inline(&entry),
                Err(error) => check.report(Rule::XattrDamaged, &error.to_string()),
            }
        }
        for id in body.shared_ids() {
            let allowance = &mut self.allowance;
            let shared = self.shared.entry(id);
            let shared = shared.or_insert_with(|| check.load_shared(id, allowance));
            check.see_shared(id, shared);
        }
        if body.entries().next().is_some() {
            check.check_pages(body.shared_ids());
        }
        check.check_filter(body.filter);
        check.check_duplicates();
    }
}

impl BodyCheck<'_, '_> {
    fn report(&self, rule: Rule, detail: &str) {
        self.log.inode(rule, self.inode.nid, detail);
    }

    fn body(&mut self) -> Option<Vec<u8>> {
        self.raw.bytes(self.inode.space, self.body_start()?, self.inode.xattr_size())
    }

    fn body_start(&self) -> Option<u64> {
        self.inode.position.checked_add(self.inode.size_on_disk() as u64)
    }

    fn see_inline(&mut self, entry: &Entry<'_>) {
        if let Some(named) = self.name(entry) {
            self.check_acl(entry);
            self.names.push(named);
        } else {
            self.report_prefix(entry.index);
        }
    }

    fn name(&self, entry: &Entry<'_>) -> Option<Named> {
        let name = self.image.xattr_prefixes().resolve(entry)?;
        let bit = name.filter_bit();
        let name = name.to_full().unwrap_or_else(|| [name.infix, name.rest].concat());
        Some(Named { name, bit })
    }

    fn report_prefix(&self, index: u8) {
        self.report(Rule::XattrPrefix, &format!("an xattr's name has the unknown prefix {index}"));
    }

    fn see_shared(&mut self, id: u32, shared: &SharedXattr) {
        match shared {
            SharedXattr::Broken => {
                let detail = format!("shared xattr {id} is not within the metadata");
                self.report(Rule::XattrShared, &detail);
            }
            SharedXattr::Unknown => {}
            SharedXattr::Named(named) => self.names.push(named.clone()),
        }
    }

    fn load_shared(&mut self, id: u32, allowance: &mut Allowance) -> SharedXattr {
        let Some((space, position, size)) = self.find_shared(id) else {
            return SharedXattr::Broken;
        };
        if !is_granted(allowance, size, self.log, self.inode) {
            return SharedXattr::Unknown;
        }
        let Some(bytes) = self.raw.bytes(space, position, size) else { return SharedXattr::Broken };
        let Ok((entry, _)) = Entry::parse(&bytes) else { return SharedXattr::Broken };
        if let Some(named) = self.name(&entry) {
            self.check_acl(&entry);
            return SharedXattr::Named(named);
        }
        self.report_prefix(entry.index);
        SharedXattr::Unknown
    }

    /// The space, position and size of a shared xattr.
    fn find_shared(&mut self, id: u32) -> Option<(Space, u64, usize)> {
        let sb = self.image.superblock();
        let in_metabox = sb.compat.contains(Compat::SHARED_EA_IN_METABOX);
        let space = if in_metabox { Space::Metabox } else { Space::Primary };
        let position = shared_position(sb.xattr_blkaddr, id, sb.block)?;
        let header = self.raw.array::<ENTRY_HEADER_SIZE>(space, position)?;
        Some((space, position, entry_size(header)))
    }

    /// Linux looks for shared xattrs in the page of the inode's own ones if its index is the right one, also if only one of
    /// the two is in the metabox.
    fn check_pages(&mut self, mut shared_ids: impl Iterator<Item = u32>) {
        let Some(start) = self.body_start() else { return };
        let own = start / PAGE..=(start + self.inode.xattr_size() as u64 - 1) / PAGE;
        let hidden = shared_ids.find_map(|id| {
            let (space, position, _) = self.find_shared(id)?;
            (space != self.inode.space && own.contains(&(position / PAGE))).then_some(id)
        });
        if let Some(id) = hidden {
            self.report(Rule::XattrHidden, &format!("Linux from 6.17 on hides shared xattr {id}"));
        }
    }

    fn check_filter(&self, filter: u32) {
        if !self.image.superblock().has_xattr_filter() {
            return;
        }
        for named in self.names.iter().filter(|named| named.bit & filter != 0) {
            let name = named.name.escape_ascii();
            self.report(Rule::XattrFilter, &format!("the filter {filter:#010x} hides {name}"));
        }
    }

    fn check_duplicates(&mut self) {
        self.names.sort_unstable();
        for (name, next) in self.names.iter().zip(self.names.iter().skip(1)) {
            if name == next {
                let detail = format!("{} occurs twice", name.name.escape_ascii());
                self.report(Rule::XattrDuplicate, &detail);
            }
        }
    }

    fn check_acl(&self, entry: &Entry<'_>) {
        let is_acl = ShortPrefix::from_raw(entry.index).is_some_and(ShortPrefix::is_whole_name);
        if is_acl && !is_acl_value(entry.value) {
            let detail = format!("an ACL of {} bytes that Linux can't read", entry.value.len());
            self.report(Rule::XattrAcl, &detail);
        }
    }
}

/// Whether `size` bytes of xattrs may be read.
fn is_granted(allowance: &mut Allowance, size: usize, log: &Log<'_>, inode: &Inode) -> bool {
    let detail = "xattrs overlap so much that the rest is not checked";
    log.is_granted(allowance.take(size as u64), inode.nid, detail)
}

/// Whether a value is a POSIX ACL of version 2, the only one that Linux reads: entries of tag, permissions and id.
fn is_acl_value(value: &[u8]) -> bool {
    let Some((version, entries)) = value.split_first_chunk::<4>() else { return false };
    let (entries, rest) = entries.as_chunks::<8>();
    let known = |entry: &[u8; 8]| {
        let [tag, zero, permissions, also_zero, ..] = *entry;
        matches!(tag, 1 | 2 | 4 | 8 | 0x10 | 0x20) && permissions < 8 && zero | also_zero == 0
    };
    u32::from_le_bytes(*version) == 2 && rest.is_empty() && entries.iter().all(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acls_are_told_from_other_values() {
        let mut acl = vec![2, 0, 0, 0];
        assert!(is_acl_value(&acl));
        acl.extend([1, 0, 6, 0, 255, 255, 255, 255]);
        assert!(is_acl_value(&acl));
        assert!(!is_acl_value(&acl[..11]));
        assert!(!is_acl_value(&acl[..3]));
        acl[4] = 3;
        assert!(!is_acl_value(&acl));
        acl[4] = 1;
        acl[0] = 1;
        assert!(!is_acl_value(&acl));
    }
}
