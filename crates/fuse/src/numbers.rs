//! Converts NIDs to the inode numbers of FUSE.

use fuser::INodeNo;
use lith_format::addr::Nid;

/// The number of NID 0, since FUSE reserves 0; no inode has so large a NID.
const ZERO: u64 = u64::MAX;

/// Inode numbers are NIDs, so that `st_ino` is the same as with the kernel's EROFS; only the root, which must be 1, is
/// swapped with NID 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Numbers {
    root: Nid,
}

impl Numbers {
    pub(crate) const fn new(root: Nid) -> Self {
        Self { root }
    }

    pub(crate) fn number(self, nid: Nid) -> INodeNo {
        INodeNo(match self.swap(nid.0) {
            0 => ZERO,
            number => number,
        })
    }

    pub(crate) fn nid(self, number: INodeNo) -> Nid {
        Nid(match number.0 {
            ZERO => self.swap(0),
            number => self.swap(number),
        })
    }

    fn swap(self, number: u64) -> u64 {
        let root = INodeNo::ROOT.0;
        if number == self.root.0 {
            root
        } else if number == root {
            self.root.0
        } else {
            number
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_nid_has_a_number_of_its_own() {
        for root in [0, 1, 2, 36, u64::from(u32::MAX)] {
            let numbers = Numbers::new(Nid(root));
            assert_eq!(numbers.number(Nid(root)), INodeNo::ROOT);
            let mut seen = std::collections::HashSet::new();
            for nid in [0, 1, 2, 36, 37, u64::from(u32::MAX), 1 << 63] {
                let number = numbers.number(Nid(nid));
                assert_ne!(number.0, 0);
                assert_eq!(numbers.nid(number), Nid(nid), "{nid} below {root}");
                assert!(seen.insert(number));
            }
        }
    }
}
