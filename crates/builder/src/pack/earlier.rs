//! Finds what an earlier image's packed inode holds, too, and where pclusters must start so that they are equal again.

use std::{collections::HashMap, ops::Range};

use crate::{Digest, EarlierPacked, scan::Fragment};

/// Fragments that an earlier packed inode has, in its order.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// Where each was, and its number.
    fragments: Vec<(u64, u32)>,
}

impl Kept {
    /// Those of the fragments of these numbers that are in the earlier packed inode, and the numbers of the others.
    pub(super) fn new(
        earlier: &EarlierPacked,
        fragments: &[&Fragment],
        numbers: Vec<u32>,
    ) -> (Self, Vec<u32>) {
        if earlier.fragments.is_empty() {
            return (Self::default(), numbers);
        }
        let key = |(digest, range): &(Digest, Range<u64>)| {
            ((digest.0, range.end.saturating_sub(range.start)), range.start)
        };
        let known: HashMap<_, _> = earlier.fragments.iter().map(key).collect();
        let (mut kept, mut others) = (Vec::new(), Vec::new());
        for number in numbers {
            let key =
                fragments.get(number as usize).map(|fragment| (fragment.digest.0, fragment.len));
            match key.and_then(|key| known.get(&key)) {
                Some(position) => kept.push((*position, number)),
                None => others.push(number),
            }
        }
        kept.sort_unstable();
        (Self { fragments: kept }, others)
    }

    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.fragments.iter().map(|(_, number)| *number)
    }

    /// Where pclusters must start, if the fragments are stored from byte `start` on. An encoder that starts where an earlier
    /// one did makes the same pclusters as long as the bytes are the same: so it starts anew where that did, after
    /// bytes that are missing, and after each end of a `segment`, which it sees nothing beyond.
    pub(super) fn cuts(
        &self,
        earlier: &EarlierPacked,
        fragments: &[&Fragment],
        (start, segment): (u64, u64),
    ) -> Vec<u64> {
        let mut cuts = Vec::new();
        let (mut position, mut expected) = (start, None);
        // From where on pclusters are out of step, in the earlier packed inode.
        let mut lost = None;
        for (at, number) in &self.fragments {
            let len = fragments.get(*number as usize).map_or(0, |fragment| fragment.len);
            let (end, at_end) = (position + len, at.saturating_add(len));
            if expected != Some(*at) {
                lost = Some(*at);
            }
            let border = (position / segment + 1) * segment;
            if border < end && position != *at {
                lost.get_or_insert(at.saturating_add(border - position));
            }
            let from = lost.unwrap_or(u64::MAX);
            let next = earlier.pclusters.partition_point(|begins| *begins < from);
            let begins = earlier.pclusters.get(next).filter(|begins| **begins < at_end);
            if let Some(begins) = begins.filter(|_| lost.is_some()) {
                cuts.push(position + (begins - at));
                lost = None;
            }
            (position, expected) = (end, Some(at_end));
        }
        cuts
    }
}

#[cfg(test)]
mod tests {
    use lith_tree::InodeIndex;

    use super::*;

    #[test]
    fn pclusters_start_where_they_did_after_what_is_missing() {
        let digest = |byte: u8| Digest::of_content(&[byte]);
        let fragment = |byte: u8, len| Fragment {
            inode: InodeIndex::ROOT,
            start: 0,
            len,
            digest: digest(byte),
        };
        // Five fragments of 100 bytes, in pclusters of 80.
        let fragments = (0..5).map(|n| (digest(n), u64::from(n) * 100..u64::from(n) * 100 + 100));
        let earlier = EarlierPacked {
            fragments: fragments.collect(),
            pclusters: (0..7).map(|n| n * 80).collect(),
        };
        let now: Vec<_> = [4, 9, 0, 1, 3].map(|n| fragment(n, 100)).into();
        let now: Vec<_> = now.iter().collect();
        let (kept, others) = Kept::new(&earlier, &now, (0..5).collect());
        assert_eq!(kept.numbers().collect::<Vec<_>>(), [2, 3, 4, 0]);
        assert_eq!(others, [1]);
        // The first starts with a pcluster; after the missing one the next starts at 320, 20 bytes into the fourth.
        assert_eq!(kept.cuts(&earlier, &now, (0, 1 << 20)), [0, 220]);
        assert_eq!(kept.cuts(&earlier, &now, (50, 1 << 20)), [50, 270]);
    }
}
