//! Defines the table of long xattr name prefixes.

use alloc::{vec, vec::Vec};

use super::{Entry, NAME_REST_MAX, ShortPrefix, XattrError, XattrName};
use crate::record::record_at;

/// The bit that marks the numbers of long prefixes.
pub const LONG_PREFIX_FLAG: u8 = 0x80;

/// A prefix of the image's own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LongPrefix {
    /// The number of the short prefix that it begins with; a corrupt image may have any.
    pub base: u8,
    /// What follows the short prefix, at most 255 bytes.
    pub infix: Vec<u8>,
}

/// The image's own prefixes; most images have none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PrefixTable {
    prefixes: Vec<LongPrefix>,
}

impl PrefixTable {
    /// The most prefixes that numbers can name.
    pub const MAX_COUNT: usize = 128;
    /// Bytes in the largest record: length, base, infix, padding.
    const MAX_RECORD: usize = 260;

    /// Bytes that suffice to read a table of `count` prefixes.
    #[must_use]
    pub fn max_size(count: u8) -> usize {
        usize::from(count) * Self::MAX_RECORD
    }

    /// A table of these prefixes.
    ///
    /// # Errors
    /// There are more than [`Self::MAX_COUNT`], or an infix is too long.
    pub fn new(prefixes: Vec<LongPrefix>) -> Result<Self, XattrError> {
        let too_long = |p: &LongPrefix| p.infix.len() > NAME_REST_MAX;
        if let Some(index) = prefixes.iter().position(too_long) {
            let length = prefixes.get(index).map_or(0, |p| p.infix.len() + 1);
            return Err(XattrError::PrefixLength { index, length });
        }
        if prefixes.len() > Self::MAX_COUNT {
            return Err(XattrError::PrefixCutOff { index: Self::MAX_COUNT });
        }
        Ok(Self { prefixes })
    }

    /// Reads `count` records from `bytes`, which begin at the table's start.
    ///
    /// # Errors
    /// A record is truncated or has an impossible length.
    pub fn parse(bytes: &[u8], count: u8) -> Result<Self, XattrError> {
        let mut prefixes = vec![];
        let mut position = 0_usize;
        for index in 0..usize::from(count) {
            let cut_off = XattrError::PrefixCutOff { index };
            let (record, end) = record_at(bytes, position).ok_or(cut_off)?;
            let length = record.len();
            let (base, infix) = record
                .split_first()
                .filter(|(_, infix)| infix.len() <= NAME_REST_MAX)
                .ok_or(XattrError::PrefixLength { index, length })?;
            prefixes.push(LongPrefix { base: *base, infix: infix.to_vec() });
            position = end;
        }
        Ok(Self { prefixes })
    }

    /// Appends the table; what precedes it must end at a multiple of 4.
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        for LongPrefix { base, infix } in &self.prefixes {
            let length = u16::try_from(infix.len() + 1).expect("an infix has at most 255 bytes");
            out.extend_from_slice(&length.to_le_bytes());
            out.push(*base);
            out.extend_from_slice(infix);
            out.resize(out.len().next_multiple_of(4), 0);
        }
    }

    /// The prefixes; number `k` of them is written as [`LONG_PREFIX_FLAG`]` + k`.
    #[must_use]
    pub fn prefixes(&self) -> &[LongPrefix] {
        &self.prefixes
    }

    /// The name of an entry; `None` if its prefix is unknown.
    #[must_use]
    pub fn resolve<'a>(&'a self, entry: &Entry<'a>) -> Option<XattrName<'a>> {
        let rest = entry.rest;
        if entry.index & LONG_PREFIX_FLAG == 0 {
            return Some(XattrName { base: ShortPrefix::from_raw(entry.index)?, infix: b"", rest });
        }
        let long = self.prefixes.get(usize::from(entry.index & !LONG_PREFIX_FLAG))?;
        Some(XattrName { base: ShortPrefix::from_raw(long.base)?, infix: &long.infix, rest })
    }
}
