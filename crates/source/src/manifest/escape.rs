//! Reads the escapes of names and values in a line.

use super::error::ManifestProblem;

/// The bytes of a field with escapes as C has them: `\x2c`, `\054` (three digits), `\n`, `\s` for a space, `\\`; any other
/// character is itself.
pub(super) fn unescape(field: &[u8]) -> Result<Vec<u8>, ManifestProblem> {
    let wrong = || ManifestProblem::field("name or value", field);
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let (byte, length) = escaped(rest).ok_or_else(wrong)?;
        bytes.push(byte);
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(bytes)
}

/// The byte of an escape, given what follows its backslash, and the length of the escape.
fn escaped(rest: &[u8]) -> Option<(u8, usize)> {
    Some(match rest {
        [b'x', high, low, ..] => (digits(&[*high, *low], 16)?, 3),
        [a @ b'0'..=b'3', b, c, ..] if b.is_ascii_digit() && c.is_ascii_digit() => {
            (digits(&[*a, *b, *c], 8)?, 3)
        }
        [] | [b'x', ..] => return None,
        [byte, ..] => {
            let byte = match byte {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b's' => b' ',
                b'a' => 7,
                b'b' => 8,
                b'v' => 11,
                b'f' => 12,
                b'0' => 0,
                byte => *byte,
            };
            (byte, 1)
        }
    })
}

fn digits(digits: &[u8], radix: u32) -> Option<u8> {
    u8::from_str_radix(str::from_utf8(digits).ok()?, radix).ok()
}

/// The bytes of pairs of hexadecimal digits.
pub(super) fn unhex(field: &[u8]) -> Result<Vec<u8>, ManifestProblem> {
    let (pairs, rest) = field.as_chunks::<2>();
    let bytes = pairs.iter().map(|pair| digits(pair, 16)).collect::<Option<Vec<_>>>();
    let bytes = bytes.filter(|_| rest.is_empty() && field.iter().all(u8::is_ascii_hexdigit));
    bytes.ok_or_else(|| ManifestProblem::field("value in hexadecimal digits", field))
}
