//! Defines [`SparseMap`], where the data of a sparse member are in its file.

use super::{
    error::Damage,
    header::{BLOCK, size},
    pax::decimal,
};
use crate::limits;

/// Contiguous data of a sparse file. Stretches are stored consecutively, with holes between them in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stretch {
    /// Where it starts in the file.
    pub(super) at: u64,
    /// Its length in bytes; never 0.
    pub(super) length: u64,
    /// Bytes stored before it.
    pub(super) stored: u64,
}

impl Stretch {
    /// The first position after it in the file.
    pub(super) const fn end(&self) -> u64 {
        self.at.saturating_add(self.length)
    }
}

/// A sparse file's stretches in ascending order.
#[derive(Clone, Debug, Default)]
pub(crate) struct SparseMap {
    pub(super) stretches: Vec<Stretch>,
    end: u64,
    stored: u64,
}

impl SparseMap {
    /// Makes the map of pairs of position and length, for a file of `size` bytes of which `stored` are stored. Each stretch has at
    /// least one stored byte, which limits their number.
    pub(super) fn new(
        pairs: impl IntoIterator<Item = (u64, u64)>,
        size: u64,
        stored: u64,
    ) -> Result<Self, Damage> {
        let mut map = Self::default();
        for (at, length) in pairs {
            map.push(at, length, size)?;
        }
        if map.stored != stored {
            let listed = map.stored;
            return Err(Damage::SparseSum { listed, stored });
        }
        map.stretches.shrink_to_fit();
        Ok(map)
    }

    /// Whether the stretches are whole blocks of a tar, except at the end of the file of `size` bytes.
    pub(super) fn is_aligned(&self, size: u64) -> bool {
        are_aligned(&self.stretches, size)
    }

    fn push(&mut self, at: u64, length: u64, size: u64) -> Result<(), Damage> {
        let Some(end) = at.checked_add(length).filter(|end| *end <= size) else {
            return Err(Damage::SparsePastEnd { at, length, size });
        };
        if at < self.end {
            let end = self.end;
            return Err(Damage::SparseOrder { at, end });
        }
        if length > 0 {
            self.stretches.push(Stretch { at, length, stored: self.stored });
            self.stored += length;
        }
        self.end = end;
        Ok(())
    }
}

/// Whether stretches are whole blocks of a tar, except at the end of the file of `size` bytes.
pub(super) fn are_aligned(stretches: &[Stretch], size: u64) -> bool {
    let is_whole = |position: u64| position.is_multiple_of(BLOCK as u64);
    stretches.iter().all(|stretch| {
        is_whole(stretch.at)
            && is_whole(stretch.stored)
            && (is_whole(stretch.end()) || stretch.end() == size)
    })
}

/// The pairs in a block of GNU's old format, up to the first that is blank.
pub(super) fn gnu_pairs(bytes: &[u8]) -> impl Iterator<Item = Result<(u64, u64), Damage>> {
    bytes
        .chunks_exact(24)
        .filter_map(|pair| pair.split_at_checked(12))
        .take_while(|(_, length)| length.first() != Some(&0))
        .map(|(at, length)| Ok((size("sparse offset", at)?, size("sparse numbytes", length)?)))
}

/// Parses the decimal numbers, one on each line, before the data of a member in PAX format 1.0: the number of pairs, then the
/// pairs.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pairs: Option<u64>,
    numbers: Vec<u64>,
    line: Vec<u8>,
}

impl Lines {
    /// Parses one more block; returns whether the list is complete.
    pub(super) fn push(&mut self, block: &[u8]) -> Result<bool, Damage> {
        for byte in block {
            if *byte != b'\n' {
                // No number of 64 bits has more digits.
                if self.line.len() == 20 {
                    return Err(Damage::SparseList);
                }
                self.line.push(*byte);
                continue;
            }
            let number = decimal(&self.line).ok_or(Damage::SparseList)?;
            self.line.clear();
            match self.pairs {
                None => self.pairs = Some(number),
                Some(_) => self.numbers.push(number),
            }
            if self.is_complete() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_complete(&self) -> bool {
        let numbers = u64::try_from(self.numbers.len()).ok();
        self.pairs.and_then(|pairs| pairs.checked_mul(2)) == numbers
    }

    pub(super) fn pairs(&self) -> impl Iterator<Item = (u64, u64)> {
        pairs(&self.numbers)
    }
}

/// Groups numbers by two.
pub(super) fn pairs(numbers: &[u64]) -> impl Iterator<Item = (u64, u64)> {
    numbers.chunks_exact(2).filter_map(|pair| match pair {
        [at, length] => Some((*at, *length)),
        _ => None,
    })
}

/// The records of an extended header about a sparse file.
#[derive(Clone, Debug, Default)]
pub(super) struct SparseRecords {
    pub(super) major: Option<u64>,
    pub(super) minor: Option<u64>,
    /// The file's size.
    pub(super) size: Option<u64>,
    pub(super) name: Option<Vec<u8>>,
    /// Positions and lengths in turn (formats 0.0 and 0.1).
    pub(super) numbers: Vec<u64>,
}

impl SparseRecords {
    /// Applies a record whose key is `GNU.sparse.` and then `key`.
    pub(super) fn apply(&mut self, key: &[u8], value: &[u8]) -> Result<(), Damage> {
        let number = |field| match decimal(value) {
            Some(number) if number <= limits::FILE_SIZE => Ok(number),
            _ => Err(Damage::Number { field, found: value.into() }),
        };
        match key {
            b"major" => self.major = Some(number("GNU.sparse.major")?),
            b"minor" => self.minor = Some(number("GNU.sparse.minor")?),
            b"size" | b"realsize" => self.size = Some(number("GNU.sparse.realsize")?),
            b"name" => self.name = Some(value.to_vec()),
            b"offset" if self.numbers.len().is_multiple_of(2) => {
                self.numbers.push(number("GNU.sparse.offset")?);
            }
            b"numbytes" if !self.numbers.len().is_multiple_of(2) => {
                self.numbers.push(number("GNU.sparse.numbytes")?);
            }
            b"offset" | b"numbytes" => return Err(Damage::SparseList),
            b"map" => self.numbers = map(value)?,
            _ => {}
        }
        Ok(())
    }

    /// The version, if the member is sparse.
    pub(super) fn version(&self) -> Option<(u64, u64)> {
        match (self.major, self.minor) {
            (None, None) => self.size.map(|_size| (0, 0)),
            (major, minor) => Some((major.unwrap_or(0), minor.unwrap_or(0))),
        }
    }
}

fn map(value: &[u8]) -> Result<Vec<u64>, Damage> {
    let numbers = value.split(|byte| *byte == b',').filter(|digits| !digits.is_empty());
    let numbers: Option<Vec<_>> = numbers.map(decimal).collect();
    numbers.filter(|numbers| numbers.len().is_multiple_of(2)).ok_or(Damage::SparseList)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_lie_in_order_inside_the_file() {
        let map = SparseMap::new([(0, 512), (512, 0), (1000, 24), (2000, 0)], 2000, 536).unwrap();
        let stretch = |at, length, stored| Stretch { at, length, stored };
        assert_eq!(map.stretches, [stretch(0, 512, 0), stretch(1000, 24, 512)]);
        let error =
            |pairs: &[(u64, u64)]| SparseMap::new(pairs.iter().copied(), 100, 10).unwrap_err();
        assert!(matches!(error(&[(5, 5), (9, 5)]), Damage::SparseOrder { at: 9, end: 10 }));
        assert!(matches!(error(&[(95, 6)]), Damage::SparsePastEnd { .. }));
        assert!(matches!(error(&[(u64::MAX, 2)]), Damage::SparsePastEnd { .. }));
        assert!(matches!(error(&[(5, 5)]), Damage::SparseSum { listed: 5, stored: 10 }));
    }

    #[test]
    fn lines_may_cross_blocks_and_end_anywhere() {
        let mut lines = Lines::default();
        assert_eq!(lines.push(b"2\n0\n51"), Ok(false));
        assert_eq!(lines.push(b"2\n1024\n1\n\0\0\0"), Ok(true));
        assert_eq!(lines.pairs().collect::<Vec<_>>(), [(0, 512), (1024, 1)]);
        assert_eq!(Lines::default().push(b"0\n"), Ok(true));
        assert_eq!(Lines::default().push(b"x\n"), Err(Damage::SparseList));
        assert_eq!(Lines::default().push(&[b'1'; 21]), Err(Damage::SparseList));
        assert_eq!(Lines::default().push(b"18446744073709551615\n1\n"), Ok(false));
    }

    #[test]
    fn records_of_forms_0_0_and_0_1() {
        let mut zero = SparseRecords::default();
        for (key, value) in [("size", "9"), ("offset", "1"), ("numbytes", "2")] {
            zero.apply(key.as_bytes(), value.as_bytes()).unwrap();
        }
        assert_eq!((zero.version(), &zero.numbers), (Some((0, 0)), &vec![1, 2]));
        assert_eq!(zero.apply(b"numbytes", b"1"), Err(Damage::SparseList));
        let mut one = SparseRecords::default();
        one.apply(b"map", b"1,2,3,4").unwrap();
        assert_eq!(pairs(&one.numbers).collect::<Vec<_>>(), [(1, 2), (3, 4)]);
        assert_eq!(one.apply(b"map", b"1,2,3"), Err(Damage::SparseList));
        assert!(one.apply(b"size", b"9223372036854775808").is_err());
    }
}
