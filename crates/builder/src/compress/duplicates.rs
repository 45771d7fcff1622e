//! Which files, or ends of files, have the same bytes as others?

use std::collections::HashMap;

use lith_tree::{ContentError, InodeIndex, Kind};

use super::{Fragment, Sources};

/// Smaller files than this are not worth reading twice for.
const LEAST_SIZE: u64 = 16 << 10;

/// The files in `order` whose size some other file has too, but for small ones and those that become fragments.
pub(crate) fn candidates(sources: Sources<'_>, order: &[InodeIndex]) -> Vec<InodeIndex> {
    let least = |inode| sources.longest_fragment(inode).max(LEAST_SIZE);
    let size_of = |inode: &InodeIndex| match sources.node(*inode).kind {
        Kind::Regular { size } if size > least(*inode) => Some(size),
        _ => None,
    };
    let mut sizes: HashMap<u64, u32> = HashMap::new();
    for size in order.iter().filter_map(size_of) {
        *sizes.entry(size).or_default() += 1;
    }
    let is_shared =
        |inode: &InodeIndex| size_of(inode).is_some_and(|size| sizes.get(&size) > Some(&1));
    order.iter().copied().filter(is_shared).collect()
}

/// For each fragment the first that has the same bytes and is stored alike.
pub(crate) fn originals(
    sources: Sources<'_>,
    fragments: &[Fragment],
) -> Result<Vec<usize>, ContentError> {
    let mut first: HashMap<(usize, u64, u128), usize> = HashMap::new();
    let mut originals = Vec::with_capacity(fragments.len());
    for (at, fragment) in fragments.iter().enumerate() {
        let coding = sources.codings.number(fragment.inode);
        let known = *first.entry((coding, fragment.len, fragment.digest.0)).or_insert(at);
        let original = match fragments.get(known) {
            Some(other) if known != at && !is_same(sources, fragment, other)? => at,
            _ => known,
        };
        originals.push(original);
    }
    Ok(originals)
}

/// Compares bytes: a digest that somebody has forged must not give a file the bytes of another.
fn is_same(sources: Sources<'_>, a: &Fragment, b: &Fragment) -> Result<bool, ContentError> {
    const STEP: u64 = 64 << 10;
    let (one, other) = (sources.open(a.inode)?, sources.open(b.inode)?);
    let mut bytes = [Vec::new(), Vec::new()];
    for done in (0..a.len).step_by(usize::try_from(STEP).unwrap_or(usize::MAX)) {
        let len = usize::try_from(STEP.min(a.len - done)).unwrap_or(usize::MAX);
        let [ours, theirs] = &mut bytes;
        ours.resize(len, 0);
        theirs.resize(len, 0);
        one.read_at(ours, a.start + done)?;
        other.read_at(theirs, b.start + done)?;
        if ours != theirs {
            return Ok(false);
        }
    }
    Ok(true)
}
