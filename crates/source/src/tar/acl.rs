//! Converts an ACL's text to the attribute in which Linux stores it.

use super::{error::Refusal, pax::decimal};

/// The version at the start of the attribute.
const VERSION: u32 = 2;

/// The identity of entries without one.
const NO_ID: u32 = u32::MAX;

/// The tags, in the order of entries in the attribute.
const USER_OBJ: u16 = 0x01;
const USER: u16 = 0x02;
const GROUP_OBJ: u16 = 0x04;
const GROUP: u16 = 0x08;
const MASK: u16 = 0x10;
const OTHER: u16 = 0x20;

/// Tag, permissions, identity.
type Entry = (u16, u16, u32);

/// Converts the text of an access ACL. `None` if it is equivalent to the permission bits.
pub(super) fn access(text: &[u8]) -> Result<Option<Box<[u8]>>, Refusal> {
    let entries = parse(text)?;
    let minimal = |entry: &Entry| matches!(entry.0, USER_OBJ | GROUP_OBJ | OTHER);
    Ok((!entries.iter().all(minimal)).then(|| encode(&entries)))
}

/// Converts the text of a directory's default ACL.
pub(super) fn default(text: &[u8]) -> Result<Option<Box<[u8]>>, Refusal> {
    let entries = parse(text)?;
    Ok((!entries.is_empty()).then(|| encode(&entries)))
}

/// Entries `tag:who:permissions`, optionally with `:` and the number of `who`, separated by newlines or commas.
fn parse(text: &[u8]) -> Result<Vec<Entry>, Refusal> {
    let mut entries = text
        .split(|byte| matches!(byte, b'\n' | b','))
        .map(without_comment)
        .filter(|entry| !entry.is_empty())
        .map(entry)
        .collect::<Result<Vec<_>, _>>()?;
    entries.sort_unstable_by_key(|(tag, _, id)| (*tag, *id));
    Ok(entries)
}

fn without_comment(line: &[u8]) -> &[u8] {
    let end = line.iter().position(|byte| *byte == b'#');
    line.get(..end.unwrap_or(line.len())).unwrap_or(line).trim_ascii()
}

fn entry(text: &[u8]) -> Result<Entry, Refusal> {
    let bad = || Refusal::AclEntry(text.into());
    let mut fields = text.split(|byte| *byte == b':').map(<[u8]>::trim_ascii);
    let (tag, who) = (fields.next().ok_or_else(bad)?, fields.next().ok_or_else(bad)?);
    let permissions = fields.next().and_then(permissions).ok_or_else(bad)?;
    let number = fields.next();
    let (object, named) = match tag {
        b"user" | b"u" => (USER_OBJ, USER),
        b"group" | b"g" => (GROUP_OBJ, GROUP),
        b"mask" | b"m" => (MASK, 0),
        b"other" | b"o" => (OTHER, 0),
        _ => return Err(bad()),
    };
    match who {
        b"" => Ok((object, permissions, NO_ID)),
        _ if named == 0 => Err(bad()),
        _ => Ok((named, permissions, id(who, number)?)),
    }
}

/// The number of a user or group: `number`, else `who` if that is a number, else 0 for root, which is the same on all systems.
fn id(who: &[u8], number: Option<&[u8]>) -> Result<u32, Refusal> {
    let parse = |digits| decimal(digits).and_then(|id| u32::try_from(id).ok());
    number
        .and_then(parse)
        .or_else(|| parse(who))
        .or_else(|| (who == b"root").then_some(0))
        .ok_or_else(|| Refusal::AclName(who.into()))
}

fn permissions(text: &[u8]) -> Option<u16> {
    let text = text.split(u8::is_ascii_whitespace).next()?;
    text.iter().try_fold(0, |bits, letter| match letter {
        b'r' => Some(bits | 4),
        b'w' => Some(bits | 2),
        b'x' => Some(bits | 1),
        b'-' => Some(bits),
        _ => None,
    })
}

fn encode(entries: &[Entry]) -> Box<[u8]> {
    let mut bytes = VERSION.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        bytes.extend_from_slice(&tag.to_le_bytes());
        bytes.extend_from_slice(&permissions.to_le_bytes());
        bytes.extend_from_slice(&id.to_le_bytes());
    }
    bytes.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_gnu_tar_and_star_are_the_same_acl() {
        let gnu = b"user::rw-\nuser:1000:r--\ngroup::r--\ngroup:0:-wx\nmask::rwx\nother::r--\n";
        let star = b"user::rw-,user:joe:r--:1000,group::r--,group:root:-wx:0,other::r--,mask::rwx";
        let expected: Vec<Entry> = vec![
            (USER_OBJ, 6, NO_ID),
            (USER, 4, 1000),
            (GROUP_OBJ, 4, NO_ID),
            (GROUP, 3, 0),
            (MASK, 7, NO_ID),
            (OTHER, 4, NO_ID),
        ];
        assert_eq!(access(gnu).unwrap(), Some(encode(&expected)));
        assert_eq!(access(star).unwrap(), Some(encode(&expected)));
        assert_eq!(encode(&expected).len(), 4 + 6 * 8);
    }

    #[test]
    fn an_access_acl_of_three_entries_is_the_mode() {
        let text = b"user::rw-\ngroup::r--\nother::r--  # effective\n";
        assert_eq!(access(text).unwrap(), None);
        assert!(default(text).unwrap().is_some());
        assert_eq!(default(b"\n").unwrap(), None);
    }

    #[test]
    fn an_entry_without_a_number_is_named() {
        let name = Refusal::AclName(b"joe"[..].into());
        assert_eq!(access(b"user:joe:rwx"), Err(name));
        for entry in ["user:1", "owner::rwx", "mask:3:r--", "user::rwz"] {
            let refusal = Refusal::AclEntry(entry.as_bytes().into());
            assert_eq!(access(entry.as_bytes()), Err(refusal));
        }
    }
}
