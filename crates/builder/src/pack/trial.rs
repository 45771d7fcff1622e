//! Finds out by trial in which of several orders fragments compress best.

use std::num::NonZeroUsize;

use lith_codec::{Algorithm, Compressor, Encoder};
use lith_tree::{Content, ContentError};

use super::{
    likeness::{Preference, by_likeness},
    packing::{Packed, Packing, Part},
};
use crate::{
    Input,
    plan::Geometry,
    scan::{Fragment, Sketch},
};

/// How many fragments are ordered together. Larger groups make larger images: what is near in the tree is also alike in ways
/// that sketches don't see.
const GROUP: usize = 1 << 14;
/// What a trial compresses with. It takes a fiftieth of the time of LZMA, and which order is better shows as well.
const COMPRESSOR: Compressor = Compressor::Zstd { level: 1, window: None };
/// Bytes of a fragment that a trial compresses at most: beyond them its neighbours matter to no pcluster.
const MOST_OF_FRAGMENT: u64 = 8 << 20;
/// Bytes that a trial hands to the encoder at once.
const INPUT: usize = 8 << 20;

/// Fragments of some numbers in a possible order.
struct Candidate<'a> {
    group: &'a [u32],
    preference: Preference,
}

/// The `numbers` of some fragments in an order in which each is followed by a similar one. Where compressing takes so long that
/// a trial hardly counts, the best of several orders. Large numbers of fragments are ordered in groups.
///
/// # Errors
/// [`ContentError`] if a fragment can't be read.
pub(super) fn in_best_order(
    geometry: Geometry<'_>,
    (fragments, sketches): (&[&Fragment], &[&Sketch]),
    numbers: &[u32],
    workers: NonZeroUsize,
) -> Result<Vec<u32>, ContentError> {
    let preferences = preferences(geometry);
    let candidates: Vec<_> = numbers
        .chunks(GROUP)
        .flat_map(|group| {
            preferences.iter().map(move |&preference| Candidate { group, preference })
        })
        .collect();
    let try_out = |trial: &mut Option<Trial>, Candidate { group, preference }: &Candidate<'_>| {
        let order = by_likeness(&of_numbers(sketches, group), *preference);
        let size = if preferences.len() > 1 {
            let trial = trial.get_or_insert_with(Trial::new);
            trial.size_of(geometry.input, &of_numbers(fragments, group), &order)?
        } else {
            0
        };
        Ok::<_, ContentError>((size, order))
    };
    let orders = lith_parallel::try_map(&candidates, workers, || None, try_out)?;
    let all = orders.chunks(preferences.len()).zip(numbers.chunks(GROUP));
    let best = all.filter_map(|(orders, group)| {
        let (_, order) = orders.iter().min_by_key(|(size, _)| *size)?;
        Some(order.iter().filter_map(|rank| group.get(*rank as usize).copied()))
    });
    Ok(best.flatten().collect())
}

fn of_numbers<'a, T>(all: &[&'a T], numbers: &[u32]) -> Vec<&'a T> {
    numbers.iter().filter_map(|number| all.get(*number as usize).copied()).collect()
}

/// The orders that are tried; if it is one, it is taken.
fn preferences(Geometry { plan, .. }: Geometry<'_>) -> &'static [Preference] {
    let coding = plan.coding(plan.packed);
    let is_slow = coding.is_some_and(|coding| coding.compressor.algorithm() == Algorithm::Lzma);
    if is_slow { &[Preference::Similar, Preference::Next] } else { &[Preference::Similar] }
}

/// Compresses with little effort.
struct Trial {
    encoder: Encoder,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Trial {
    fn new() -> Self {
        let output = vec![0; 1 << 20];
        Self { encoder: Encoder::new(&COMPRESSOR), input: vec![0; INPUT], output }
    }

    /// Bytes of all pclusters.
    fn size_of(
        &mut self,
        input: Input<'_>,
        fragments: &[&Fragment],
        order: &[u32],
    ) -> Result<u64, ContentError> {
        let packing = packing_of(fragments, order);
        let content = Packed { input, packing: &packing, directories: None };
        let (mut size, mut position, mut held) = (0, 0, 0);
        loop {
            held += self.read(&content, (position, packing.size), held)?;
            if held == 0 {
                return Ok(size);
            }
            let input = self.input.get(..held).unwrap_or_default();
            let plain = self.output.len().min(held);
            // An encoder that fails does so again where it counts.
            let fit = self.encoder.fill(input, &mut self.output).ok().flatten();
            let (consumed, written) = fit.map_or((plain, plain), |fit| (fit.consumed, fit.written));
            size += written as u64;
            position += consumed as u64;
            self.input.copy_within(consumed..held, 0);
            held -= consumed;
        }
    }

    /// Reads on until the input is full, where the first `held` bytes from `position` on are there already.
    fn read(
        &mut self,
        content: &Packed<'_>,
        (position, end): (u64, u64),
        held: usize,
    ) -> Result<usize, ContentError> {
        let room = self.input.get_mut(held..).unwrap_or_default();
        let left = end.saturating_sub(position + held as u64);
        let len = usize::try_from(left).map_or(room.len(), |left| left.min(room.len()));
        content.read_at(room.get_mut(..len).unwrap_or_default(), position + held as u64)?;
        Ok(len)
    }
}

/// A packed inode of these fragments in this order, each cut where its neighbours no longer matter.
fn packing_of(fragments: &[&Fragment], order: &[u32]) -> Packing {
    let (mut parts, mut size) = (Vec::with_capacity(order.len()), 0);
    for fragment in order.iter().filter_map(|number| fragments.get(*number as usize)) {
        let len = fragment.len.min(MOST_OF_FRAGMENT);
        parts.push(Part { len, ..Part::new(size, fragment) });
        size += len;
    }
    Packing {
        known: 0,
        unused: Vec::new(),
        prefixes: Vec::new(),
        prefixes_start: 0,
        parts,
        hot_end: 0,
        cuts: Vec::new(),
        directories_start: size,
        size,
    }
}

#[cfg(test)]
mod tests {
    use lith_tree::{Filesystem, InodeIndex, Kind, MemoryContents, Metadata, Name, Tree};

    use super::*;
    use crate::Digest;

    /// Noise of which no part repeats.
    fn noise(seed: u64, len: usize) -> Vec<u8> {
        let next = |state: &u64| Some(state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1));
        let states = std::iter::successors(Some(seed), next);
        states.map(|state| state.to_le_bytes()[7]).take(len).collect()
    }

    #[test]
    fn a_trial_prefers_the_order_that_keeps_equal_content_together() {
        let mut tree = Tree::new(Metadata::default());
        let mut contents = MemoryContents::default();
        let fragments: Vec<Fragment> = (0..20_u64)
            .map(|number| {
                let bytes = noise(number % 10 + 1, 300 << 10);
                let name = number.to_string();
                let kind = Kind::Regular { size: bytes.len() as u64 };
                let name = Name::new(name.as_bytes()).unwrap();
                let inode = tree.add(InodeIndex::ROOT, name, Metadata::default(), kind).unwrap();
                let len = bytes.len() as u64;
                contents.insert(inode, bytes);
                Fragment { inode, start: 0, len, digest: Digest::default() }
            })
            .collect();
        let fragments: Vec<_> = fragments.iter().collect();
        let input = Input::new(Filesystem { tree: &tree, contents: &contents });
        let size = |order: &[u32]| Trial::new().size_of(input, &fragments, order).unwrap();
        let apart = size(&(0..20).collect::<Vec<_>>());
        let together = size(&(0..20).map(|at| at / 2 + at % 2 * 10).collect::<Vec<_>>());
        assert!(apart > 5 << 20, "{apart}");
        assert!(together < apart * 3 / 4, "{together} of {apart}");
    }
}
