//! Defines [`ContentRange`]: which bytes of an object an answer has.

use std::ops::Range;

/// The bytes of an answer, as its header `Content-Range` names them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ContentRange {
    pub(crate) bytes: Range<u64>,
    /// Bytes of the whole object.
    pub(crate) length: u64,
}

impl ContentRange {
    /// Parses `bytes 0-99/1000`; `None`: it is something else, or contradicts itself.
    pub(crate) fn parse(value: &str) -> Option<Self> {
        let (bytes, length) = value.trim().strip_prefix("bytes ")?.split_once('/')?;
        let (first, last) = bytes.split_once('-')?;
        let (first, last): (u64, u64) = (number(first)?, number(last)?);
        let (end, length) = (last.checked_add(1)?, number(length)?);
        (first < end && end <= length).then_some(Self { bytes: first..end, length })
    }
}

/// A number of digits only; `parse` would also take a sign.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ranges_inside_an_object_are_taken() {
        let parsed = ContentRange::parse("bytes 5-9/10").unwrap();
        assert_eq!(parsed, ContentRange { bytes: 5..10, length: 10 });
        for wrong in [
            "bytes 5-10/10",
            "bytes 5-4/10",
            "bytes 0-18446744073709551615/18446744073709551615",
            "bytes */10",
            "bytes 0-9/*",
            "bytes +0-9/10",
            "items 0-9/10",
            "",
        ] {
            assert_eq!(ContentRange::parse(wrong), None, "{wrong}");
        }
    }
}
