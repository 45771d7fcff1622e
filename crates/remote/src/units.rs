//! Defines [`UNIT`], in which objects are fetched and kept.

use std::ops::Range;

/// Bytes of a unit; the last one of an object may be shorter.
pub(crate) const UNIT: u64 = 64 << 10;

/// The units that have any of these bytes.
pub(crate) fn units_of(bytes: Range<u64>) -> Range<u64> {
    bytes.start / UNIT..bytes.end.div_ceil(UNIT)
}

/// The bytes of units, of which the object has `length`.
pub(crate) fn bytes_of(units: &Range<u64>, length: u64) -> Range<u64> {
    let end = units.end.saturating_mul(UNIT).min(length);
    units.start.saturating_mul(UNIT).min(end)..end
}

/// Cuts a stream of bytes that starts with a unit into units.
#[derive(Debug)]
pub(crate) struct Cutter {
    next: u64,
    length: u64,
    bytes: Vec<u8>,
}

impl Cutter {
    /// For an object of `length` bytes, from this unit on.
    pub(crate) const fn new(unit: u64, length: u64) -> Self {
        Self { next: unit, length, bytes: Vec::new() }
    }

    /// Takes what follows, and gives away each unit that is complete.
    pub(crate) fn push<E>(
        &mut self,
        mut bytes: &[u8],
        mut give: impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        while !bytes.is_empty() {
            let unit = bytes_of(&(self.next..self.next + 1), self.length);
            let whole = usize::try_from(unit.end - unit.start).expect("a unit is held in memory");
            let missing = whole.saturating_sub(self.bytes.len());
            let (now, later) = bytes.split_at(missing.min(bytes.len()));
            self.bytes.extend_from_slice(now);
            bytes = later;
            if self.bytes.len() < whole {
                continue;
            }
            give(self.next, &self.bytes)?;
            self.bytes.clear();
            self.next += 1;
            if whole == 0 {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn units_cover_bytes() {
        assert_eq!(units_of(0..1), 0..1);
        assert_eq!(units_of(UNIT - 1..UNIT + 1), 0..2);
        assert_eq!(units_of(UNIT..2 * UNIT), 1..2);
        assert_eq!(bytes_of(&(1..3), 2 * UNIT + 5), UNIT..2 * UNIT + 5);
        assert_eq!(bytes_of(&(7..9), 5), 5..5);
    }

    #[test]
    fn a_stream_is_cut_into_units() {
        let length = 2 * UNIT + 5;
        let all: Vec<u8> = (0..length).map(|at| u8::try_from(at % 251).unwrap()).collect();
        for step in [1000, 65_536, 200_000] {
            let mut found = Vec::new();
            let mut cutter = Cutter::new(1, length);
            for bytes in all[65_536..].chunks(step) {
                let mut give = |unit, bytes: &[u8]| {
                    found.push((unit, bytes.to_vec()));
                    Ok::<(), Infallible>(())
                };
                cutter.push(bytes, &mut give).unwrap();
            }
            let expected = [(1, all[65_536..131_072].to_vec()), (2, all[131_072..].to_vec())];
            assert_eq!(found, expected, "{step}");
        }
    }
}
