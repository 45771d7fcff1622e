//! Finds the extents of other images in files, at any position.
//!
//! A hash rolls over the content. Where it equals that of the first bytes of a known extent, the hash of all bytes is
//! compared, and then the bytes. What is inserted into a file moves the extents behind it, which are found all the same.

use std::{collections::HashMap, ops::Range};

use lith_format::addr::BlockBits;
use lith_tree::{Content, ContentError, InodeIndex};
use xxhash_rust::xxh3::xxh3_64;

use super::{
    duplicates::have_same_bytes,
    parts::{Parts, is_reusable},
};
use crate::{
    BuildError, Context, Input, Known, KnownContents, KnownExtent, KnownParts, KnownPcluster,
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
/// Bits of the filter for each known extent, most of which are zeros.
const FILTER_BITS: usize = 16;

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

    fn may_have(&self, first: u64) -> bool {
        let bit = first >> self.shift;
        self.filter.get((bit / 64) as usize).is_some_and(|word| word >> (bit % 64) & 1 == 1)
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
    buf: Vec<u8>,
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
        let mut hash = Rolling::of(first);
        let mut pairs = rest.iter().zip(entering);
        let mut at = from;
        loop {
            if self.index.may_have(hash.value()) {
                for known in self.index.get(hash.value()) {
                    if self.is_at(known, position + at as u64, end)? {
                        return Ok(Some((at, known.pcluster)));
                    }
                }
            }
            let Some((left, entering)) = pairs.next() else { return Ok(None) };
            hash = hash.roll(*left, *entering);
            at += 1;
        }
    }

    /// Whether the file has the bytes of a known extent at `position`.
    fn is_at(
        &mut self,
        known: &KnownExtent,
        position: u64,
        end: u64,
    ) -> Result<bool, ContentError> {
        let llen = u64::from(known.pcluster.llen);
        if end - position < llen || self.waste < llen {
            return Ok(false);
        }
        self.buf.resize(known.pcluster.llen as usize, 0);
        self.content.read_at(&mut self.buf, position)?;
        let (number, start) = known.place;
        if xxh3_64(&self.buf) == known.all {
            if self.opened.as_ref().is_none_or(|(other, _)| *other != number) {
                self.opened = Some((number, self.known.open(number)?));
            }
            if let Some((_, content)) = &self.opened
                && have_same_bytes((self.content, position), (&**content, start), llen)?
            {
                return Ok(true);
            }
        }
        self.waste -= llen;
        Ok(false)
    }
}

/// Finds the extents of files that are known.
pub(super) fn find_parts(
    (input, plan): (Input<'_>, &Plan<'_>),
    files: &[InodeIndex],
    context: &Context<'_>,
) -> Result<HashMap<InodeIndex, Parts>, BuildError> {
    let Known { extents, contents, packed, own, .. } = input.known;
    let block = plan.options.layout.block;
    let mut all = HashMap::new();
    let index = &Index::new(extents, block);
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
        if let Some(KnownParts::Extents(known)) = own.get(inode) {
            start = size;
            for (position, known) in known {
                parts.add(*position, *known, &mut heads, block);
            }
        }
        let waste = size.saturating_mul(MOST_WASTE);
        let (opened, buf) = (None, Vec::new());
        let mut search = Search { content: &*file, index, known: *contents, opened, waste, buf };
        for (position, known) in search.find(start..size)? {
            // A block elsewhere is not rotated.
            let is_aligned = block.within(position) == 0;
            if interlaced && known.algorithm.is_none() && !is_aligned {
                continue;
            }
            parts.add(position, known, &mut heads, block);
        }
        file.check_unchanged()?;
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
