//! Finds the holes of a file.
//!
//! Only content decides what is a hole, so that a sparse file, the same file with its zeros written out and a tar of
//! either give the same image.

use lith_format::addr::BlockBits;
use lith_tree::{Content, ContentError, DataRange};

use crate::limits::SEGMENT;

/// The granule of holes in a file of `size` bytes: so large that the chunk table, with 4 bytes for each granule, takes no
/// more than a single hole saves.
pub(crate) fn granule_for(size: u64, block: BlockBits) -> u32 {
    let even = size.saturating_mul(4).isqrt().max(1).next_power_of_two();
    let granule = even.clamp(u64::from(block.size()), SEGMENT);
    u32::try_from(granule).expect("a segment is far smaller than 4 GiB")
}

/// Removes all-zero granules from the bytes from `start` on, and returns which granules these were; `None` if they are
/// fewer than `least`.
pub(crate) fn squeeze(
    data: &mut Vec<u8>,
    start: usize,
    granule: u32,
    least: usize,
) -> Option<Vec<bool>> {
    let granule = granule as usize;
    let holes: Vec<bool> = data.get(start..)?.chunks(granule).map(is_zero).collect();
    if holes.iter().filter(|hole| **hole).count() < least {
        return None;
    }
    let mut to = start;
    let len = data.len();
    for (number, hole) in holes.iter().enumerate() {
        let from = start + number * granule;
        let end = len.min(from + granule);
        if !hole {
            data.copy_within(from..end, to);
            to += end - from;
        }
    }
    data.truncate(to);
    Some(holes)
}

/// Whether a file that would be compressed is better stored with holes: its granules that are not all zeros take less
/// than the index and the pclusters of the zeros would.
///
/// Reads about a thousandth of a file that is not sparse.
pub(crate) fn is_mostly_hole(
    content: &dyn Content,
    size: u64,
    block: BlockBits,
) -> Result<bool, ContentError> {
    let allowed = block.blocks_for(size) * 2 + size / SEGMENT * u64::from(block.size());
    let granule = u64::from(granule_for(size, block));
    let mut buf = vec![0; usize::try_from(granule).expect("a granule fits memory")];
    let (mut position, mut stored) = (0, 0);
    while position < size {
        if let DataRange::Hole { end } = content.range_at(position)? {
            let skipped = end / granule * granule;
            if skipped > position || end >= size {
                position = skipped.max(position + granule);
                continue;
            }
        }
        let len = granule.min(size - position);
        let len_in_memory = usize::try_from(len).expect("at most a granule");
        let bytes = buf.get_mut(..len_in_memory).expect("at most a granule");
        content.read_at(bytes, position)?;
        stored += if is_zero(bytes) { 0 } else { len };
        if stored > allowed {
            return Ok(false);
        }
        position += len;
    }
    Ok(true)
}

/// Whether all bytes are zeros.
pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<64>();
    words.iter().all(|word| word == &[0; 64]) && rest.iter().all(|byte| *byte == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_hole_pays_for_the_table() {
        let block = BlockBits::DEFAULT;
        for size in [1, 4096, 1 << 20, 4 << 20, 100 << 20, 10 << 30, 1 << 40, u64::MAX / 2] {
            let granule = u64::from(granule_for(size, block));
            assert!(granule == SEGMENT || size / granule * 4 <= granule, "{size}");
            assert!(SEGMENT.is_multiple_of(granule) && granule >= 4096);
        }
    }

    #[test]
    fn zero_granules_go_and_the_others_close_up() {
        let mut data = b"x".to_vec();
        for fill in [0, 1, 0, 0, 2] {
            data.extend([fill; 4096]);
        }
        data.extend([3; 10]);
        let holes = squeeze(&mut data, 1, 4096, 3).unwrap();
        assert_eq!(holes, [true, false, true, true, false, false]);
        assert_eq!(data.len(), 1 + 2 * 4096 + 10);
        assert_eq!((data[0], data[1], data[4097], data[8193]), (b'x', 1, 2, 3));
        assert_eq!(squeeze(&mut data, 1, 4096, 1), None);
    }
}
