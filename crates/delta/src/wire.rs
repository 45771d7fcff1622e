//! Writes and reads numbers of variable length: seven bits a byte, the lowest first.

use crate::DeltaError;

/// Appends a number.
pub(crate) fn put(out: &mut Vec<u8>, mut number: u64) {
    loop {
        let low = u8::try_from(number & 0x7f).expect("seven bits");
        number >>= 7;
        if number == 0 {
            return out.push(low);
        }
        out.push(low | 0x80);
    }
}

/// Appends the difference of two positions.
pub(crate) fn put_step(out: &mut Vec<u8>, from: u64, to: u64) {
    let (size, is_back) = (to.abs_diff(from), to < from);
    // Positions in files have 63 bits.
    put(out, size << 1 | u64::from(is_back));
}

/// What is left to read.
#[derive(Debug)]
pub(crate) struct Cursor<'a>(pub(crate) &'a [u8]);

impl<'a> Cursor<'a> {
    /// The next number.
    pub(crate) fn number(&mut self) -> Result<u64, DeltaError> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes(1)?.first().ok_or(CUT)?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(DeltaError::Damaged("a number has more than 64 bits"))
    }

    /// The next number, which is at most `most`.
    pub(crate) fn number_up_to(&mut self, most: u64) -> Result<u64, DeltaError> {
        let number = self.number()?;
        if number <= most { Ok(number) } else { Err(DeltaError::Damaged("a number is too large")) }
    }

    /// The position that differs from another one by the next number.
    pub(crate) fn step(&mut self, from: u64) -> Result<u64, DeltaError> {
        let number = self.number()?;
        let size = number >> 1;
        let to = if number & 1 == 1 { from.checked_sub(size) } else { from.checked_add(size) };
        to.ok_or(DeltaError::Damaged("a position is out of range"))
    }

    /// The next bytes.
    pub(crate) fn bytes(&mut self, len: usize) -> Result<&'a [u8], DeltaError> {
        let (now, later) = self.0.split_at_checked(len).ok_or(CUT)?;
        self.0 = later;
        Ok(now)
    }
}

const CUT: DeltaError = DeltaError::Damaged("it ends early");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_steps_come_back() {
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX >> 1, u64::MAX];
        let mut out = Vec::new();
        for number in numbers {
            put(&mut out, number);
        }
        put_step(&mut out, 10, 3);
        put_step(&mut out, 3, 10);
        let mut cursor = Cursor(&out);
        for number in numbers {
            assert_eq!(cursor.number().unwrap(), number);
        }
        assert_eq!(cursor.step(10).unwrap(), 3);
        assert_eq!(cursor.step(3).unwrap(), 10);
        assert!(cursor.number().is_err());
        assert!(Cursor(&[0xff; 10]).number().is_err());
        assert!(Cursor(&[7]).step(2).is_err());
    }
}
