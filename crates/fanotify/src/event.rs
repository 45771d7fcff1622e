//! Defines [`RawEvent`]: an event as the kernel describes it.

use std::{mem::size_of, ops::Range};

/// `FAN_PRE_ACCESS`: bytes are about to be read, which waits for an answer. Linux 6.14.
pub const RANGES: u64 = 0x0010_0000;
/// `FAN_EVENT_INFO_TYPE_RANGE`: which bytes.
const RANGE: u8 = 6;

/// Bytes of the fixed part of an event: length, version, length of this part, mask, descriptor, process.
const METADATA: usize = 24;
/// Where the range is in its record, after a header of 4 bytes and 4 more: first byte, and number of bytes.
const RANGE_AT: usize = 8;

/// An event as the kernel describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RawEvent {
    /// Bytes of the description.
    pub bytes: usize,
    /// What happens; [`RANGES`] or another bit.
    pub mask: u64,
    /// The descriptor of the file, which is open in this process; negative if there is none.
    pub fd: i32,
    /// The process.
    pub pid: i32,
    /// The bytes that are about to be read.
    pub range: Option<Range<u64>>,
}

impl RawEvent {
    /// The first event in a buffer that was read from a group; `None`: there is no whole one.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let size = usize::try_from(u32::from_ne_bytes(array(bytes, 0)?)).ok()?;
        let event = bytes.get(..size).filter(|event| event.len() >= METADATA)?;
        let mut record = event.get(usize::from(u16::from_ne_bytes(array(event, 6)?))..)?;
        let mut range = None;
        while let Some([kind, _, low, high]) = array(record, 0) {
            let size = usize::from(u16::from_ne_bytes([low, high]));
            if kind == RANGE {
                let start = u64::from_ne_bytes(array(record, RANGE_AT)?);
                let count = u64::from_ne_bytes(array(record, RANGE_AT + size_of::<u64>())?);
                range = Some(start..start.saturating_add(count));
            }
            record = record.get(size.max(1)..)?;
        }
        Some(Self {
            bytes: size,
            mask: u64::from_ne_bytes(array(event, 8)?),
            fd: i32::from_ne_bytes(array(event, 16)?),
            pid: i32::from_ne_bytes(array(event, 20)?),
            range,
        })
    }
}

/// The bytes from `at` on; `None` if there are too few.
pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(records: &[u8]) -> Vec<u8> {
        let size = u32::try_from(METADATA + records.len()).unwrap();
        let mut bytes = size.to_ne_bytes().to_vec();
        bytes.extend([3, 0]);
        bytes.extend(24_u16.to_ne_bytes());
        bytes.extend(RANGES.to_ne_bytes());
        bytes.extend(7_i32.to_ne_bytes());
        bytes.extend(99_i32.to_ne_bytes());
        bytes.extend(records);
        bytes
    }

    #[test]
    fn a_range_is_found_among_other_records() {
        let mut records = vec![1, 0, 5, 0, 0xff, RANGE, 0, 24, 0, 0, 0, 0, 0];
        records.extend(4096_u64.to_ne_bytes());
        records.extend(100_u64.to_ne_bytes());
        let bytes = event(&records);
        let found = RawEvent::parse(&bytes).unwrap();
        assert_eq!((found.fd, found.pid, found.range), (7, 99, Some(4096..4196)));
        assert_eq!(found.bytes, bytes.len());
        assert!(RawEvent::parse(&event(&[])).unwrap().range.is_none());
        for len in 0..bytes.len() {
            assert!(RawEvent::parse(&bytes[..len]).is_none(), "{len}");
        }
    }
}
