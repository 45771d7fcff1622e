//! Finds the extents of other images in files, at any position.
//!
//! A hash rolls over the content. Where it equals that of the first bytes of a known extent, the bytes are compared. What is
//! inserted into a file moves the extents after it, which are found all the same. Of an extent in which something changed the
//! bytes before that are found, since an extent of a file may be the beginning of what its pcluster holds.

use std::{collections::HashMap, ops::Range};

use lith_format::{addr::BlockBits, kernel::Capability};
use lith_tree::{Content, ContentError, InodeIndex};
use xxhash_rust::xxh3::xxh3_64;

use super::parts::{Parts, is_reusable};
use crate::{
    BuildError, Context, Input, Known, KnownContents, KnownExtent, KnownParts, KnownPcluster,
    apart::Starts,
    coding::Heads,
    plan::Plan,
    window::{Rolling, WINDOW},
};

/// Bytes that are read at once.
const STEP: usize = 1 << 20;
/// Known extents with the same first bytes of which one is sought.
const MOST_ALIKE: usize = 8;
/// For each byte of a file so many are compared in vain: periodic content starts as some extent does again and again.
const MOST_WASTE: u64 = 8;
/// Bits of the filter for each known extent: of other hashes so few pass it that looking them up takes little time.
const FILTER_BITS: usize = 128;

/// Known extents by the hash of their first bytes.
struct Index<'k> {
    extents: Vec<&'k KnownExtent>,
    /// The bit of a hash's upper bits is set if an extent has it.
    filter: Vec<u64>,
    shift: u32,
}

impl<'k> Index<'k> {
    fn new(known: &'k [KnownExtent], block: BlockBits) -> Self {
        let mut extents: Vec<_> =
            known.iter().filter(|known| is_reusable(known.pcluster, block)).collect();
        extents.sort_unstable_by_key(|known| (known.first, known.all, known.pcluster.address));
        extents.dedup_by_key(|known| (known.first, known.all, known.pcluster.llen));
        let bits = (extents.len() * FILTER_BITS).next_power_of_two().clamp(1 << 10, 1 << 26);
        let mut index = Self { filter: vec![0; bits / 64], shift: 64 - bits.ilog2(), extents };
        for at in 0..index.extents.len() {
            let bit = index.extents.get(at).map_or(0, |known| known.first >> index.shift);
            if let Some(word) = index.filter.get_mut((bit / 64) as usize) {
                *word |= 1 << (bit % 64);
            }
        }
        index
    }

    /// 1 if an extent may have the hash, 0 if none has.
    #[inline]
    fn may_have(&self, first: u64) -> u64 {
        let bit = first >> self.shift;
        self.filter.get((bit / 64) as usize).map_or(0, |word| word >> (bit % 64) & 1)
    }

    /// Moves a hash by at least one of the bytes that enter its window, until an extent may have it. Returns by how many;
    /// `None`: there are too few.
    fn next(&self, hash: &mut Rolling, entering: &[u8]) -> Option<usize> {
        // One branch for several bytes takes half the time of one for each.
        let (eights, _) = entering.as_chunks::<8>();
        let is_passed = |eight: &&[u8; 8]| {
            let mut found = 0;
            let after = eight.iter().fold(*hash, |hash, byte| {
                let next = hash.with(*byte);
                found |= self.may_have(next.value());
                next
            });
            if found == 0 {
                *hash = after;
            }
            found == 0
        };
        let passed = eights.iter().take_while(is_passed).count() * 8;
        let rest = entering.get(passed..).unwrap_or_default();
        let within = rest.iter().position(|byte| {
            *hash = hash.with(*byte);
            self.may_have(hash.value()) == 1
        });
        within.map(|within| passed + within + 1)
    }

    fn get(&self, first: u64) -> impl Iterator<Item = &'k KnownExtent> {
        let start = self.extents.partition_point(|known| known.first < first);
        let alike = self.extents.iter().skip(start).take_while(move |known| known.first == first);
        alike.copied().take(MOST_ALIKE)
    }
}

/// Searches one file.
struct Search<'a> {
    content: &'a dyn Content,
    index: &'a Index<'a>,
    known: &'a dyn KnownContents,
    /// The known content that was opened last.
    opened: Option<(u32, Box<dyn Content + 'a>)>,
    /// Bytes that may still be compared in vain.
    waste: u64,
    /// Whether an extent may hold only the beginning of its pcluster.
    may_end_early: bool,
    block: BlockBits,
    bytes: [Vec<u8>; 2],
}

impl Search<'_> {
    /// The known extents in a range of the file.
    fn find(&mut self, range: Range<u64>) -> Result<Vec<(u64, KnownPcluster)>, ContentError> {
        let (mut found, mut bytes) = (Vec::new(), Vec::new());
        let mut position = range.start;
        while range.end.saturating_sub(position) >= WINDOW as u64 {
            let left = range.end - position;
            let len = usize::try_from(left).map_or(STEP, |left| left.min(STEP));
            bytes.resize(len, 0);
            self.content.read_at(&mut bytes, position)?;
            let mut done = 0;
            while let Some(at) = self.first_in(&bytes, done, (position, range.end))? {
                let (start, known) = at;
                found.push((position + start as u64, known));
                done = start + known.llen as usize;
            }
            // A window that begins in these bytes may end in the next ones.
            position += done.max(len - WINDOW + 1) as u64;
        }
        Ok(found)
    }

    /// The first known extent that starts in `bytes`, from `from` on. These start at `position` in a file that ends at
    /// `end`.
    fn first_in(
        &mut self,
        bytes: &[u8],
        from: usize,
        (position, end): (u64, u64),
    ) -> Result<Option<(usize, KnownPcluster)>, ContentError> {
        let Some(rest) = bytes.get(from..).filter(|rest| rest.len() >= WINDOW) else {
            return Ok(None);
        };
        let (first, entering) = rest.split_at(WINDOW);
        let (mut hash, mut entering) = (Rolling::of(first), entering);
        let mut at = from;
        loop {
            if self.index.may_have(hash.value()) == 1
                && let Some(known) = self.longest_at(hash.value(), position + at as u64, end)?
            {
                return Ok(Some((at, known)));
            }
            let Some(moved) = self.index.next(&mut hash, entering) else { return Ok(None) };
            entering = entering.get(moved..).unwrap_or_default();
            at += moved;
        }
    }

    /// The known extent whose first bytes have a hash and that has the most bytes of the file at `position`, with these bytes.
    fn longest_at(
        &mut self,
        first: u64,
        position: u64,
        end: u64,
    ) -> Result<Option<KnownPcluster>, ContentError> {
        let mut longest: Option<KnownPcluster> = None;
        for known in self.index.get(first) {
            let Some(found) = self.beginning_at(known, position, end)? else { continue };
            if found.llen == known.pcluster.llen {
                return Ok(Some(found));
            }
            longest = longest.into_iter().chain([found]).max_by_key(|known| known.llen);
        }
        Ok(longest)
    }

    /// The beginning of a known extent that the file has at `position`, if it is all of it or enough to be referred to.
    fn beginning_at(
        &mut self,
        known: &KnownExtent,
        position: u64,
        end: u64,
    ) -> Result<Option<KnownPcluster>, ContentError> {
        let KnownExtent { pcluster, place: (number, start), .. } = *known;
        let llen = u64::from(pcluster.llen);
        let least = if self.may_end_early { pcluster.least(self.block) } else { llen };
        let most = llen.min(end - position);
        if most < least || self.waste < llen {
            return Ok(None);
        }
        // Most extents that begin alike differ soon: hashes say so without decoding these.
        let expected = if least < llen { known.least } else { known.all };
        let fits = |len: u64| usize::try_from(len).expect("an extent fits memory");
        let [ours, theirs] = &mut self.bytes;
        ours.resize(fits(most), 0);
        let (first, rest) = ours.split_at_mut(fits(least));
        self.content.read_at(first, position)?;
        if xxh3_64(first) != expected {
            self.waste -= least;
            return Ok(None);
        }
        self.content.read_at(rest, position + least)?;
        if self.opened.as_ref().is_none_or(|(other, _)| *other != number) {
            self.opened = Some((number, self.known.open(number)?));
        }
        let mut common = 0;
        if let Some((_, content)) = &self.opened {
            theirs.resize(fits(most), 0);
            content.read_at(theirs, start)?;
            common = common_len(ours, theirs) as u64;
        }
        self.waste -= llen - common;
        if common < least {
            return Ok(None);
        }
        let llen = u32::try_from(common).expect("at most the extent's bytes");
        let partial = pcluster.partial || llen < pcluster.llen;
        Ok(Some(KnownPcluster { llen, partial, ..pcluster }))
    }
}

/// How many of the first bytes are equal.
fn common_len(one: &[u8], other: &[u8]) -> usize {
    const STEP: usize = 4096;
    let steps = one.chunks(STEP).zip(other.chunks(STEP));
    let equal = steps.take_while(|(one, other)| one == other).count() * STEP;
    let rest = one.iter().zip(other).skip(equal);
    (equal + rest.take_while(|(one, other)| one == other).count()).min(one.len())
}

/// Finds the extents of files that are known.
pub(super) fn find_parts(
    (input, plan): (Input<'_>, &Plan<'_>),
    files: &[InodeIndex],
    context: &Context<'_>,
) -> Result<HashMap<InodeIndex, Parts>, BuildError> {
    let Known { devices, extents, contents, packed, own, .. } = input.known;
    let block = plan.options.layout.block;
    let mut all = HashMap::new();
    let (index, starts) = (&Index::new(extents, block), Starts::new(devices));
    if index.extents.is_empty() && packed.is_none() && own.is_empty() {
        return Ok(all);
    }
    let search = |inode: &InodeIndex| -> Result<Parts, BuildError> {
        if context.observer.is_cancelled() {
            return Err(BuildError::Cancelled);
        }
        let Some(coding) = plan.coding(*inode) else { return Ok(Parts::default()) };
        let (size, file) = (input.size(*inode), input.open(*inode)?);
        let mut heads = Heads::of(coding);
        let mut parts = Parts::default();
        let (mut start, mut interlaced) = (0, false);
        let begins_with_known = input.extra(*inode).is_some_and(|extra| extra.known > 0);
        if let Some(packed) = packed.as_ref().filter(|_| begins_with_known) {
            (start, interlaced) = (packed.size, packed.interlaced);
            for (position, known) in &packed.extents {
                parts.add(*position, *known, &mut heads, block);
            }
        }
        if let Some(known) = own.get(inode).and_then(KnownParts::extents) {
            start = size;
            for (position, known) in known {
                parts.add(position, known, &mut heads, block);
            }
        }
        let waste = size.saturating_mul(MOST_WASTE);
        let mut search = Search {
            content: &*file,
            index,
            known: *contents,
            opened: None,
            waste,
            may_end_early: plan.options.kernel.supports(&[Capability::PartialReferences]),
            block,
            bytes: Default::default(),
        };
        for (position, known) in search.find(start..size)? {
            // A block elsewhere is not rotated.
            let is_aligned = block.within(position) == 0;
            if interlaced && known.algorithm.is_none() && !is_aligned {
                continue;
            }
            parts.add(position, known, &mut heads, block);
        }
        file.check_unchanged()?;
        parts.keep_apart(&starts);
        Ok(parts)
    };
    let found = lith_parallel::try_map(files, context.workers, || (), |(), inode| search(inode))?;
    for (inode, parts) in files.iter().zip(found) {
        if !parts.extents.is_empty() {
            all.insert(*inode, parts);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use lith_format::addr::Blkaddr;

    use super::*;

    #[test]
    fn a_hash_moves_to_the_next_that_an_extent_may_have() {
        let bytes: Vec<u8> = (0..20_000_u32).map(|n| (n * n % 8191 % 251) as u8).collect();
        let extent = |start: usize| {
            let pcluster = KnownPcluster {
                llen: 5000,
                blocks: 1,
                algorithm: Some(lith_format::compression::Algorithm::Zstd),
                partial: false,
                address: Blkaddr(start as u64),
            };
            let bytes = &bytes[start..start + 5000];
            KnownExtent::new(bytes, (pcluster, BlockBits::DEFAULT), (0, start as u64)).unwrap()
        };
        let known: Vec<_> = [1, 63, 64, 777, 3001, 14_999].map(extent).into();
        let index = Index::new(&known, BlockBits::DEFAULT);
        for from in 0..20 {
            let (first, entering) = bytes[from..].split_at(WINDOW);
            let (mut hash, mut at, mut found) = (Rolling::of(first), from, Vec::new());
            while let Some(moved) = index.next(&mut hash, &bytes[at + WINDOW..]) {
                at += moved;
                found.push((at, hash.value()));
            }
            let mut hash = Rolling::of(first);
            let expected = (from + 1..).zip(entering).filter_map(|(at, byte)| {
                hash = hash.with(*byte);
                (index.may_have(hash.value()) == 1).then_some((at, hash.value()))
            });
            assert_eq!(found, expected.collect::<Vec<_>>());
            assert!(found.iter().any(|(at, _)| *at == 14_999));
        }
    }
}
