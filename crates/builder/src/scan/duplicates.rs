//! Finds files, and ends of files, that have the same bytes as others.

use std::{cmp::Ordering, collections::HashMap};

use lith_tree::{Content, ContentError, InodeIndex};

use super::analysis::Fragment;
use crate::{Input, plan::Plan};

/// Smaller files than this are not worth reading twice for.
const LEAST_SIZE: u64 = 16 << 10;

/// The files in `order` whose size some other file has too, except small ones and those that become fragments.
pub(super) fn candidates(
    input: Input<'_>,
    plan: &Plan<'_>,
    order: &[InodeIndex],
) -> Vec<InodeIndex> {
    let least = |inode| plan.longest_fragment(inode).max(LEAST_SIZE);
    let size_of =
        |inode: &InodeIndex| Some(input.size(*inode)).filter(|size| *size > least(*inode));
    let mut sizes: HashMap<u64, u32> = HashMap::new();
    for size in order.iter().filter_map(size_of) {
        *sizes.entry(size).or_default() += 1;
    }
    let is_shared =
        |inode: &InodeIndex| size_of(inode).is_some_and(|size| sizes.get(&size) > Some(&1));
    order.iter().copied().filter(is_shared).collect()
}

/// For each fragment the first one that has the same bytes and the same coding.
pub(crate) fn originals(
    input: Input<'_>,
    plan: &Plan<'_>,
    fragments: &[&Fragment],
) -> Result<Vec<u32>, ContentError> {
    // Sorted, as a table of a million keys takes 150 MB.
    let count = u32::try_from(fragments.len()).expect("inodes have 32-bit numbers");
    let mut sorted: Vec<u32> = (0..count).collect();
    sorted.sort_unstable_by(|a, b| order(plan, fragments, *a, *b).then(a.cmp(b)));
    let mut originals: Vec<u32> = (0..count).collect();
    for alike in sorted.chunk_by(|a, b| order(plan, fragments, *a, *b).is_eq()) {
        let Some((first, others)) = alike.split_first() else { continue };
        for at in others {
            if let (Some(one), Some(other)) =
                (fragments.get(*first as usize), fragments.get(*at as usize))
                && is_same(input, one, other)?
                && let Some(original) = originals.get_mut(*at as usize)
            {
                *original = *first;
            }
        }
    }
    Ok(originals)
}

/// Equal for fragments that may have the same bytes. Sorting compares in dozens of places, in each of which this would be 700 bytes.
#[inline(never)]
fn order(plan: &Plan<'_>, fragments: &[&Fragment], a: u32, b: u32) -> Ordering {
    let key = |at: u32| {
        let fragment = fragments.get(at as usize)?;
        Some((fragment.len, fragment.digest.0, plan.coding_number(fragment.inode)))
    };
    key(a).cmp(&key(b))
}

fn is_same(input: Input<'_>, a: &Fragment, b: &Fragment) -> Result<bool, ContentError> {
    let (one, other) = (input.open(a.inode)?, input.open(b.inode)?);
    have_same_bytes((&*one, a.start), (&*other, b.start), a.len)
}

/// Compares `len` bytes: a forged digest must not give a file the bytes of another.
pub(super) fn have_same_bytes(
    (one, start): (&dyn Content, u64),
    (other, other_start): (&dyn Content, u64),
    len: u64,
) -> Result<bool, ContentError> {
    const STEP: usize = 64 << 10;
    let mut bytes = [Vec::new(), Vec::new()];
    for done in (0..len).step_by(STEP) {
        let now = usize::try_from(len - done).map_or(STEP, |left| left.min(STEP));
        let [ours, theirs] = &mut bytes;
        ours.resize(now, 0);
        theirs.resize(now, 0);
        one.read_at(ours, start + done)?;
        other.read_at(theirs, other_start + done)?;
        if ours != theirs {
            return Ok(false);
        }
    }
    Ok(true)
}
