//! Defines [`Overrides`], the fields of extended headers that replace those of a member's header.

use lith_tree::{Timestamp, Xattr};

use super::{
    error::Damage,
    pax::{Records, decimal, time},
    sparse::SparseRecords,
    xattr,
};
use crate::limits;

/// The fields of extended headers, as far as a tree can represent them.
#[derive(Clone, Debug, Default)]
pub(super) struct Overrides {
    pub(super) path: Option<Vec<u8>>,
    pub(super) link: Option<Vec<u8>>,
    pub(super) size: Option<u64>,
    pub(super) uid: Option<u32>,
    pub(super) gid: Option<u32>,
    pub(super) mtime: Option<Timestamp>,
    pub(super) major: Option<u32>,
    pub(super) minor: Option<u32>,
    pub(super) xattrs: Vec<Xattr>,
    pub(super) acl_access: Option<Vec<u8>>,
    pub(super) acl_default: Option<Vec<u8>>,
    pub(super) sparse: SparseRecords,
}

impl Overrides {
    /// Applies the records of an extended header; later ones replace earlier ones. A bad one is returned as an error, but does not
    /// prevent the others, among which the member's name may be.
    pub(super) fn apply_all(&mut self, records: &[u8]) -> Result<(), Damage> {
        let mut result = Ok(());
        for record in Records::new(records) {
            result = result.and(record.and_then(|(key, value)| self.apply(key, value)));
        }
        result
    }

    pub(super) fn apply_global(&mut self, records: &[u8]) -> Result<(), Damage> {
        for record in Records::new(records) {
            let (key, value) = record?;
            let own = matches!(key, b"path" | b"linkpath" | b"size");
            if own || key.starts_with(b"GNU.sparse.") {
                return Err(Damage::Global(key.into()));
            }
            self.apply(key, value)?;
        }
        Ok(())
    }

    /// Applies one record. An empty value removes an earlier one.
    fn apply(&mut self, key: &[u8], value: &[u8]) -> Result<(), Damage> {
        let text = || (!value.is_empty()).then(|| value.to_vec());
        match key {
            b"path" => self.path = text(),
            b"linkpath" => self.link = text(),
            b"size" => self.size = parse("size", value, size)?,
            b"uid" => self.uid = parse("uid", value, id)?,
            b"gid" => self.gid = parse("gid", value, id)?,
            b"mtime" => self.mtime = parse("mtime", value, time)?,
            b"SCHILY.devmajor" => self.major = parse("SCHILY.devmajor", value, id)?,
            b"SCHILY.devminor" => self.minor = parse("SCHILY.devminor", value, id)?,
            b"SCHILY.acl.access" => self.acl_access = text(),
            b"SCHILY.acl.default" => self.acl_default = text(),
            _ => return self.apply_other(key, value),
        }
        Ok(())
    }

    fn apply_other(&mut self, key: &[u8], value: &[u8]) -> Result<(), Damage> {
        if let Some(key) = key.strip_prefix(b"GNU.sparse.") {
            self.sparse.apply(key, value)?;
        } else if let Some(xattr) = xattr::from_record(key, value) {
            self.xattrs.push(xattr?);
        }
        Ok(())
    }
}

fn parse<T>(
    field: &'static str,
    value: &[u8],
    parse: impl Fn(&[u8]) -> Option<T>,
) -> Result<Option<T>, Damage> {
    if value.is_empty() {
        return Ok(None);
    }
    let found = value.into();
    parse(value).map(Some).ok_or(Damage::Number { field, found })
}

fn size(value: &[u8]) -> Option<u64> {
    decimal(value).filter(|size| *size <= limits::FILE_SIZE)
}

/// A number of 32 bits. A negative one is refused, as by GNU tar: it means no owner.
fn id(value: &[u8]) -> Option<u32> {
    u32::try_from(decimal(value)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(key: &str, value: &[u8]) -> Vec<u8> {
        let body = key.len() + value.len() + 3;
        let length = (body..body + 9).find(|n| n.to_string().len() + body == *n).unwrap();
        [format!("{length} {key}=").as_bytes(), value, b"\n"].concat()
    }

    #[test]
    fn later_records_replace_and_empty_ones_remove() {
        let records = [
            record("path", b"a\xff\nb"),
            record("uid", b"7"),
            record("uid", b"65534"),
            record("gid", b"4294967295"),
            record("mtime", b"-1.5"),
            record("size", b"5"),
            record("size", b""),
            record("SCHILY.xattr.user.a", b""),
            record("comment", b"x"),
        ]
        .concat();
        let mut overrides = Overrides::default();
        overrides.apply_all(&records).unwrap();
        assert_eq!(overrides.path.as_deref(), Some(&b"a\xff\nb"[..]));
        assert_eq!((overrides.uid, overrides.gid), (Some(65534), Some(u32::MAX)));
        assert_eq!(overrides.mtime.map(|time| time.sec), Some(-2));
        assert_eq!((overrides.size, overrides.xattrs.len()), (None, 1));
    }

    #[test]
    fn impossible_numbers_name_their_field() {
        for (key, value) in
            [("uid", "4294967296"), ("gid", "-5"), ("size", "9223372036854775808"), ("mtime", "x")]
        {
            let error = Overrides::default().apply_all(&record(key, value.as_bytes()));
            let Err(Damage::Number { field, .. }) = error else {
                panic!("{key} taken");
            };
            assert_eq!(field, key);
        }
    }

    #[test]
    fn a_global_header_cannot_name_all_members() {
        for key in ["path", "linkpath", "size", "GNU.sparse.map"] {
            let error = Overrides::default().apply_global(&record(key, b"1"));
            assert_eq!(error, Err(Damage::Global(key.as_bytes().into())));
        }
        let mut overrides = Overrides::default();
        overrides.apply_global(&record("uid", b"5")).unwrap();
        assert_eq!(overrides.uid, Some(5));
    }
}
