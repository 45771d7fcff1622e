//! Writes literals by Huffman codes.

use super::bits::Backward;
use super::fse::Table;

/// Longest code of a literal.
const MAX_BITS: u32 = 11;
/// Largest accuracy of the table that codes the weights.
const MAX_WEIGHT_LOG: u32 = 6;

/// The code of one literal; `len` 0 if it has none.
#[derive(Clone, Copy, Debug, Default)]
struct Code {
    bits: u16,
    len: u16,
}

/// The codes of all literals.
#[derive(Clone, Debug)]
pub(crate) struct Codes([Code; 256]);

impl Codes {
    /// The codes described at the beginning of `bytes`, and the length of the description.
    pub(crate) fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let (&first, rest) = bytes.split_first()?;
        let mut weights = Weights { weights: [0; 256], len: 0 };
        let size = if let Some(count) = first.checked_sub(127) {
            let size = usize::from(count).div_ceil(2);
            let halves = rest.get(..size)?.iter().flat_map(|&byte| [byte >> 4, byte & 15]);
            halves.take(usize::from(count)).try_for_each(|weight| weights.push(weight))?;
            size
        } else {
            weights.read(rest.get(..usize::from(first))?)?;
            usize::from(first)
        };
        Some((Self::new(weights)?, 1 + size))
    }

    fn new(mut weights: Weights) -> Option<Self> {
        let max = weights.complete()?;
        let mut codes = [Code::default(); 256];
        let mut cell = 0_u32;
        for weight in 1..=max {
            for (code, _) in codes.iter_mut().zip(weights.weights).filter(|&(_, w)| w == weight) {
                let bits = u16::try_from(cell >> (weight - 1)).ok()?;
                *code = Code { bits, len: u16::from(max + 1 - weight) };
                cell += 1 << (weight - 1);
            }
        }
        Some(Self(codes))
    }

    /// Bits that `literal` takes; 0 if it has no code.
    #[inline]
    pub(crate) fn len(&self, literal: u8) -> usize {
        usize::from(self.code(literal).len)
    }

    #[inline]
    fn code(&self, literal: u8) -> Code {
        *self.0.get(usize::from(literal)).expect("there is a code for each byte")
    }

    /// Writes `literals` as one stream at the end of `out`.
    pub(crate) fn write(&self, literals: &[u8], out: &mut Vec<u8>) {
        let (mut word, mut used) = (0_u64, 0_u32);
        for group in literals.rchunks(4) {
            for &literal in group.iter().rev() {
                let code = self.code(literal);
                word |= u64::from(code.bits) << used;
                used += u32::from(code.len);
            }
            // Four codes of 11 bits and 7 left over fit 64 bits.
            let whole = used / 8;
            let bytes = word.to_le_bytes();
            out.extend_from_slice(bytes.get(..whole as usize).expect("a word has eight bytes"));
            word >>= whole * 8;
            used -= whole * 8;
        }
        out.push((word | 1 << used).to_le_bytes()[0]);
    }
}

/// One more than the bits that a literal's code is shorter than the longest; 0 for none.
struct Weights {
    weights: [u8; 256],
    len: usize,
}

impl Weights {
    fn push(&mut self, weight: u8) -> Option<()> {
        *self.weights.get_mut(self.len)? = weight;
        self.len += 1;
        Some(())
    }

    /// Reads weights that two alternating states code.
    fn read(&mut self, bytes: &[u8]) -> Option<()> {
        let (table, used) = Table::read(bytes, MAX_WEIGHT_LOG)?;
        let mut bits = Backward::new(bytes.get(used..)?)?;
        let mut state = table.state(bits.read(table.log)?)?;
        let mut other = table.state(bits.read(table.log)?)?;
        loop {
            self.push(state.symbol)?;
            let Some(next) = bits.read(u32::from(state.bits)) else {
                return self.push(other.symbol);
            };
            let next = table.state(u32::from(state.base) + next)?;
            state = std::mem::replace(&mut other, next);
        }
    }

    /// Adds the last weight, which follows from the others; the bits of the longest code.
    fn complete(&mut self) -> Option<u8> {
        let mut sum = 0_u32;
        for &weight in self.weights.iter().filter(|&&weight| weight > 0) {
            sum += 1_u32.checked_shl(u32::from(weight) - 1)?;
        }
        let bits = sum.checked_ilog2()? + 1;
        let left = (1_u32 << bits) - sum;
        self.push(u8::try_from(left.ilog2() + 1).ok()?)?;
        (bits <= MAX_BITS && left.is_power_of_two()).then_some(u8::try_from(bits).ok()?)
    }
}
