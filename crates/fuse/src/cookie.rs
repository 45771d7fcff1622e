//! Defines the positions of directories that the kernel gets.

use lith_reader::DirPosition;

/// Bits of an index: a block of 64 KiB has fewer than 5,461 entries.
const INDEX_BITS: u32 = 16;

/// What `telldir` returns: 0 precedes everything, even a `.` that is not stored; everything else is the position of the
/// next stored entry, so reading continues without the entries before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cookie(pub(crate) u64);

impl Cookie {
    /// The cookie of a position.
    pub(crate) const fn at(position: DirPosition) -> Self {
        Self((position.block << INDEX_BITS | position.index as u64) + 1)
    }

    /// The position. `None`: before everything.
    pub(crate) const fn position(self) -> Option<DirPosition> {
        match self.0.checked_sub(1) {
            None => None,
            Some(packed) => {
                let index = (packed & 0xffff) as u16;
                Some(DirPosition { block: packed >> INDEX_BITS, index })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_lead_back() {
        assert_eq!(Cookie(0).position(), None);
        for (block, index) in [(0, 0), (0, 5460), (1, 0), (1 << 25, 7)] {
            let position = DirPosition { block, index };
            assert_eq!(Cookie::at(position).position(), Some(position));
        }
    }
}
