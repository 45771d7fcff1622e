//! Parses extended attributes of the records of extended headers.

use lith_tree::Xattr;

use super::error::Damage;
use crate::limits;

/// The attribute in a record, if it has one: of GNU tar and star (`SCHILY.xattr.`), of libarchive, or the SELinux label of
/// older versions of GNU tar.
pub(super) fn from_record(key: &[u8], value: &[u8]) -> Option<Result<Xattr, Damage>> {
    let (name, value) = if let Some(name) = key.strip_prefix(b"SCHILY.xattr.") {
        (unescape(name, b"%="), Some(value.to_vec()))
    } else if let Some(name) = key.strip_prefix(b"LIBARCHIVE.xattr.") {
        (unescape(name, &[]), base64(value))
    } else if key == b"RHT.security.selinux" {
        // Linux returns labels with a NUL at the end.
        (b"security.selinux".to_vec(), Some([value, b"\0"].concat()))
    } else {
        return None;
    };
    let xattr = value.filter(|value| is_possible(&name, value));
    Some(match xattr {
        Some(value) => Ok(Xattr { name: name.into(), value: value.into() }),
        None => Err(Damage::Xattr(name.into())),
    })
}

/// Whether Linux takes them: names of 1 to 255 bytes and values of up to 64 KiB.
fn is_possible(name: &[u8], value: &[u8]) -> bool {
    (1..=255).contains(&name.len()) && !name.contains(&0) && value.len() <= limits::XATTR
}

/// Replaces `%` and two hexadecimal digits by the byte, if `bytes` is empty or contains it.
fn unescape(name: &[u8], bytes: &[u8]) -> Vec<u8> {
    let mut unescaped = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((first, after)) = rest.split_first() {
        let byte = escaped(rest).filter(|byte| bytes.is_empty() || bytes.contains(byte));
        unescaped.push(byte.unwrap_or(*first));
        rest = match byte {
            Some(_) => rest.split_at(3).1,
            None => after,
        };
    }
    unescaped
}

fn escaped(text: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = text else {
        return None;
    };
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

/// Decodes base64, with padding or without.
fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let end = text.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1);
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 3);
    for group in text.get(..end)?.chunks(4) {
        let mut bits = 0_u32;
        for letter in group {
            bits = bits << 6 | sextet(*letter)?;
        }
        let whole = match group.len() {
            4 => 3,
            3 => 2,
            2 => 1,
            _ => return None,
        };
        let [_, group_bytes @ ..] = (bits << (6 * (4 - group.len()))).to_be_bytes();
        bytes.extend(group_bytes.iter().take(whole));
    }
    Some(bytes)
}

fn sextet(letter: u8) -> Option<u32> {
    let value = match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn xattr(name: &[u8], value: &[u8]) -> Xattr {
        Xattr { name: name.into(), value: value.into() }
    }

    #[test]
    fn three_spellings() {
        let schily = from_record(b"SCHILY.xattr.user.a%3Db%25c%41", b"\0\n");
        assert_eq!(schily, Some(Ok(xattr(b"user.a=b%c%41", b"\0\n"))));
        let libarchive = from_record(b"LIBARCHIVE.xattr.user.%41%ff%", b"AAoA");
        assert_eq!(libarchive, Some(Ok(xattr(b"user.A\xff%", b"\0\n\0"))));
        let label = from_record(b"RHT.security.selinux", b"u:r:t:s0");
        assert_eq!(label, Some(Ok(xattr(b"security.selinux", b"u:r:t:s0\0"))));
        assert_eq!(from_record(b"SCHILY.fflags", b"x"), None);
    }

    #[test]
    fn base64_with_padding_and_without() {
        let cases: [(&str, Option<&[u8]>); 9] = [
            ("", Some(b"")),
            ("Zg==", Some(b"f")),
            ("Zg", Some(b"f")),
            ("Zm8=", Some(b"fo")),
            ("Zm9v", Some(b"foo")),
            ("Zm9vYg", Some(b"foob")),
            ("+/+/", Some(b"\xfb\xff\xbf")),
            ("Z", None),
            ("Zm 9", None),
        ];
        for (text, expected) in cases {
            assert_eq!(base64(text.as_bytes()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn impossible_ones_are_named() {
        let long = [&b"SCHILY.xattr.user."[..], &[b'x'; 251]].concat();
        let large = vec![0; 65537];
        for (key, value) in [
            (&long[..], &b""[..]),
            (b"SCHILY.xattr.", b"x"),
            (b"SCHILY.xattr.user.\0", b"x"),
            (b"LIBARCHIVE.xattr.user.a", b"!"),
            (b"SCHILY.xattr.user.a", &large),
        ] {
            let result = from_record(key, value).unwrap();
            assert!(matches!(result, Err(Damage::Xattr(_))));
        }
    }
}
