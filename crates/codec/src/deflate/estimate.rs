//! Estimates how many bits a block takes.
//!
//! In whole numbers only, so that every machine decides alike.

use super::block::Histogram;

/// Bits after the point of a logarithm.
const FRACTION: u32 = 12;
/// Numbers below this have their logarithm in a table.
const TABLE: usize = 2048;

/// Base-2 logarithms; that of 0 counts as 0.
#[expect(clippy::indexing_slicing, reason = "known when this is compiled")]
static LOG2: [u32; TABLE] = {
    let mut table = [0; TABLE];
    let mut number = 1;
    while number < TABLE {
        table[number] = log2(number as u64);
        number += 1;
    }
    table
};

/// The logarithm, digit by digit: each squaring of a number between 1 and 2 yields one.
const fn log2(number: u64) -> u32 {
    let whole = number.ilog2();
    let mut rest = number << (31 - whole);
    let mut log = whole;
    let mut digit = 0;
    while digit < FRACTION {
        rest = (rest * rest) >> 31;
        log <<= 1;
        if rest >= 1 << 32 {
            rest >>= 1;
            log |= 1;
        }
        digit += 1;
    }
    log
}

#[inline]
fn log_of(count: u32) -> u32 {
    let over = (u32::BITS - count.leading_zeros()).saturating_sub(TABLE.ilog2());
    let log = *LOG2.get((count >> over) as usize).expect("shifted to less than the table has");
    log + (over << FRACTION)
}

/// Quarters of bits in the header, by whether a symbol's code length is 0 and whether it is that of the symbol before.
const LENGTHS: [[u8; 2]; 2] = [[13, 5], [22, 0]];

/// Bits for the symbols of one code with these frequencies, and for the lengths of their codes.
///
/// Without branches, as which symbols occur is hard to predict.
fn code_bits(counts: &[u32]) -> u64 {
    let total = counts.iter().fold(0_u32, |sum, &count| sum.wrapping_add(count));
    let log_total = log_of(total);
    let (mut bits, mut quarters) = (0_u64, 0_u64);
    let mut before = 0;
    for &count in counts {
        let log = log_total.wrapping_sub(log_of(count)).max(1 << (FRACTION - 1));
        bits = bits.wrapping_add(u64::from(count) * u64::from(log));
        let length = (log.wrapping_add(1 << (FRACTION - 1)) >> FRACTION) * u32::from(count > 0);
        let [is_new, is_same] = if length == 0 { LENGTHS[1] } else { LENGTHS[0] };
        quarters += u64::from(if length == before { is_same } else { is_new });
        before = length;
    }
    (bits >> FRACTION) + quarters / 4
}

/// About how many bits a block takes in its cheapest form.
pub(super) fn block_bits(histogram: &Histogram) -> u64 {
    let dynamic = 60
        + code_bits(&histogram.litlens)
        + code_bits(&histogram.distances)
        + histogram.extra_bits();
    dynamic.min(40 + 8 * histogram.bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_right() {
        for count in [1, 2, 3, 7, 1000, 2047, 2048, 5000, 1 << 20, u32::MAX] {
            let expected = f64::from(count).log2() * f64::from(1 << FRACTION);
            let log = f64::from(log_of(count));
            assert!((log - expected).abs() < 8.0, "{count}: {log} {expected}");
        }
    }
}
