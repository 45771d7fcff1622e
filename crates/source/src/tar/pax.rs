//! Parses the records of extended headers.

use std::str;

use lith_tree::Timestamp;

use super::error::Damage;

/// A key and its value.
type Record<'a> = (&'a [u8], &'a [u8]);

/// Iterates over the records of an extended header, each `length key=value` and a newline. Values may have any byte.
pub(super) struct Records<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Records<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at;
        let rest = self.bytes.get(at..)?;
        // Some programs pad the header with NULs.
        if rest.iter().all(|byte| *byte == 0) {
            return None;
        }
        let Some((length, record)) = first_record(rest) else {
            self.at = self.bytes.len();
            return Some(Err(Damage::Record { at }));
        };
        self.at += length;
        Some(Ok(record))
    }
}

/// The record at the start of `rest`, and its length in bytes.
fn first_record(rest: &[u8]) -> Option<(usize, Record<'_>)> {
    let space = rest.iter().take(20).position(|byte| *byte == b' ')?;
    let length = usize::try_from(decimal(rest.get(..space)?)?).ok()?;
    let body = rest.get(space + 1..length)?.strip_suffix(b"\n")?;
    let equals = body.iter().position(|byte| *byte == b'=')?;
    let (key, value) = body.split_at_checked(equals)?;
    Some((length, (key, value.get(1..)?)))
}

/// A decimal number of 64 bits without a sign.
pub(super) fn decimal(digits: &[u8]) -> Option<u64> {
    if !digits.first()?.is_ascii_digit() {
        return None;
    }
    str::from_utf8(digits).ok()?.parse().ok()
}

/// A decimal number of seconds, optionally with a sign and a fraction; rounded down to nanoseconds.
pub(super) fn time(value: &[u8]) -> Option<Timestamp> {
    let (negative, value) = match value.strip_prefix(b"-") {
        Some(value) => (true, value),
        None => (false, value),
    };
    let point = value.iter().position(|byte| *byte == b'.');
    let (whole, fraction) = value.split_at_checked(point.unwrap_or(value.len()))?;
    let sec = i64::try_from(decimal(whole)?).ok()?;
    let (nsec, exact) = nanoseconds(fraction.strip_prefix(b".").unwrap_or_default())?;
    if !negative {
        return Some(Timestamp { sec, nsec });
    }
    let nsec = nsec + u32::from(!exact);
    let borrow = i64::from(nsec > 0);
    Some(Timestamp { sec: -sec - borrow, nsec: if nsec > 0 { 1_000_000_000 - nsec } else { 0 } })
}

/// The first nine digits of a fraction, and whether the others are all zero.
fn nanoseconds(digits: &[u8]) -> Option<(u32, bool)> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let padded = digits.iter().copied().chain(std::iter::repeat(b'0')).take(9);
    let nsec = padded.fold(0, |nsec, digit| nsec * 10 + u32::from(digit - b'0'));
    let exact = digits.iter().skip(9).all(|digit| *digit == b'0');
    Some((nsec, exact))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_hold_any_byte() {
        let bytes = b"10 k=a\nb\n\n9 user=\0\n\0\0";
        let records: Result<Vec<_>, _> = Records::new(bytes).collect();
        let expected: Vec<(&[u8], &[u8])> = vec![(b"k", b"a\nb\n"), (b"user", b"\0")];
        assert_eq!(records.unwrap(), expected);
    }

    #[test]
    fn malformed_records_are_found() {
        let broken: [&[u8]; 9] = [
            b"5 a=b\n",
            b"7 a=b\n",
            b"6 a=bx",
            b"5 ab\n",
            b"x a=b\n",
            b"0 a=b\n",
            b"-6 a=b\n",
            b"99999999999999999999 a=b\n",
            b"6a=b\n",
        ];
        for bytes in broken {
            let first = Records::new(bytes).next().unwrap();
            assert_eq!(first, Err(Damage::Record { at: 0 }), "{bytes:?}");
        }
        let second: Vec<_> = Records::new(b"6 a=b\n!").collect();
        assert_eq!(second.last(), Some(&Err(Damage::Record { at: 6 })));
    }

    #[test]
    fn times_are_rounded_down() {
        type Case<'a> = (&'a [u8], Option<(i64, u32)>);
        let cases: [Case<'_>; 12] = [
            (b"0", Some((0, 0))),
            (b"12.5", Some((12, 500_000_000))),
            (b"12.0000000019", Some((12, 1))),
            (b"-1", Some((-1, 0))),
            (b"-1.5", Some((-2, 500_000_000))),
            (b"-0.25", Some((-1, 750_000_000))),
            (b"-0.0000000001", Some((-1, 999_999_999))),
            (b"-1.", Some((-1, 0))),
            (b"-", None),
            (b"1.x", None),
            (b"99999999999999999999", None),
            (b"--1", None),
        ];
        for (value, expected) in cases {
            let expected = expected.map(|(sec, nsec)| Timestamp { sec, nsec });
            assert_eq!(time(value), expected, "{value:?}");
        }
    }
}
