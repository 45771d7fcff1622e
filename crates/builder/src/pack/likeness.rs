//! Orders fragments by similarity.

use std::mem;

use crate::scan::{STRINGS, Sketch};

/// How many sketches with a string in common are compared, for each string.
const COMPARED: usize = 6;
/// How many sketches are compared at least: the next ones in the given order, if fewer have strings in common.
const NEIGHBOURS: usize = 256;
/// The number of no sketch.
const NONE: u32 = u32::MAX;

/// What decides which sketch comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Preference {
    /// The most similar of those with a string in common and of the first ones that are left.
    Similar,
    /// The next one in the given order, which is also alike in ways that sketches don't see, unless another one is more
    /// similar by far.
    Next,
}

impl Preference {
    /// By how much less the next one in the given order seems to differ.
    const fn bonus_of_next(self) -> u32 {
        match self {
            Self::Similar => 0,
            Self::Next => 256,
        }
    }

    /// How many of the next ones in the given order are compared.
    const fn next_ones(self) -> usize {
        match self {
            Self::Similar => 0,
            Self::Next => 16,
        }
    }
}

/// The numbers of the sketches in an order in which each is followed by a similar one. Equally similar ones keep their order.
/// Takes some 300 bytes for each sketch.
pub(super) fn by_likeness(sketches: &[&Sketch], preference: Preference) -> Vec<u32> {
    let mut left = Left::new(sketches, preference);
    let mut order = Vec::with_capacity(sketches.len());
    let mut last = (!sketches.is_empty()).then_some(0);
    while let Some(next) = last.and_then(|last| left.most_like(last, sketches)) {
        left.remove(next);
        order.push(next);
        last = Some(next);
    }
    order
}

/// The sketches that are not in the order yet.
struct Left {
    preference: Preference,
    /// For each, whether it is left, and the next one that may be left.
    next: Vec<(bool, u32)>,
    first: u32,
    /// For each bucket and name, the sketches with that string in descending order; some may be taken already.
    with_string: Vec<Vec<u32>>,
    /// The candidates of this step.
    candidates: Vec<u32>,
    /// For each, the last step in which it was compared.
    compared: Vec<u32>,
    step: u32,
}

impl Left {
    fn new(sketches: &[&Sketch], preference: Preference) -> Self {
        let count = u32::try_from(sketches.len()).expect("a group is far smaller");
        let mut with_string = vec![Vec::new(); STRINGS << 8];
        for (number, sketch) in (0..count).zip(sketches).rev() {
            for (bucket, name) in sketch.strings() {
                if let Some(list) = with_string.get_mut(bucket << 8 | usize::from(name)) {
                    list.push(number);
                }
            }
        }
        let next =
            (1..=count).map(|next| (true, if next == count { NONE } else { next })).collect();
        let first = if count == 0 { NONE } else { 0 };
        let (candidates, compared) = (Vec::new(), vec![0; sketches.len()]);
        Self { preference, next, first, with_string, candidates, compared, step: 0 }
    }

    fn has(&self, number: u32) -> bool {
        self.next.get(number as usize).is_some_and(|(left, _)| *left)
    }

    fn after(&self, number: u32) -> u32 {
        self.next.get(number as usize).map_or(NONE, |(_, next)| *next)
    }

    fn remove(&mut self, number: u32) {
        if let Some((left, _)) = self.next.get_mut(number as usize) {
            *left = false;
        }
        while self.first != NONE && !self.has(self.first) {
            self.first = self.after(self.first);
        }
    }

    /// The one most similar to sketch number `last`, of equally similar ones the first; `None` if none is left.
    fn most_like(&mut self, last: u32, sketches: &[&Sketch]) -> Option<u32> {
        self.step += 1;
        let sketch = sketches.get(last as usize)?;
        let following = if self.has(last) { last } else { self.after_left(last) };
        self.push_from(following, self.preference.next_ones());
        self.find_candidates(sketch);
        let bonus = self.preference.bonus_of_next();
        let mut most_like: Option<(u32, u32)> = None;
        for number in self.candidates.drain(..) {
            let Some(compared) = self.compared.get_mut(number as usize) else { continue };
            if mem::replace(compared, self.step) != self.step {
                let other = sketches.get(number as usize)?;
                let bonus = if number == following { bonus } else { 0 };
                let most = most_like.map_or(u32::MAX, |(least, _)| least + bonus);
                let Some(distance) = sketch.distance(other, most) else { continue };
                let found = (distance.saturating_sub(bonus), number);
                most_like = Some(most_like.map_or(found, |most_like| found.min(most_like)));
            }
        }
        most_like.map(|(_, number)| number)
    }

    /// Some may come more than once.
    fn find_candidates(&mut self, sketch: &Sketch) {
        for (bucket, name) in sketch.strings() {
            self.push_with_string(bucket << 8 | usize::from(name));
        }
        self.push_from(self.first, NEIGHBOURS.saturating_sub(self.candidates.len()));
    }

    /// Adds up to `count` from one that is left on.
    fn push_from(&mut self, number: u32, count: usize) {
        let mut number = number;
        for _ in 0..count {
            if number == NONE {
                break;
            }
            self.candidates.push(number);
            number = self.after_left(number);
        }
    }

    /// The next one that is left; links to those that are taken are shortened.
    fn after_left(&mut self, number: u32) -> u32 {
        let mut next = self.after(number);
        while next != NONE && !self.has(next) {
            next = self.after(next);
        }
        if let Some((_, slot)) = self.next.get_mut(number as usize) {
            *slot = next;
        }
        next
    }

    /// Adds the first few that have the string.
    fn push_with_string(&mut self, list: usize) {
        let Self { with_string, candidates, next, .. } = self;
        let Some(list) = with_string.get_mut(list) else { return };
        let found = candidates.len();
        while let Some(number) = list.pop_if(|_| candidates.len() - found < COMPARED) {
            // Those that are taken are not put back.
            if next.get(number as usize).is_some_and(|(left, _)| *left) {
                candidates.push(number);
            }
        }
        list.extend(candidates.get(found..).unwrap_or_default().iter().rev());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_ones_are_adjacent() {
        let texts: [&[u8]; 4] = [
            b"int main(void) { return 0; }",
            b"\x7fELF\x02\x01\x01",
            b"int other(void) { return 1; }",
            b"",
        ];
        let sketches = texts.map(Sketch::of);
        assert_eq!(by_likeness(&sketches.each_ref(), Preference::Similar)[..2], [0, 2]);
        assert_eq!(by_likeness(&sketches.each_ref(), Preference::Next)[..2], [0, 1]);
    }

    #[test]
    fn similar_ones_are_found_from_afar() {
        let texts = (0..1000_u32).map(|i| match i % 500 {
            0 => format!("the same words and sentences, in number {i}").into_bytes(),
            _ => i.to_le_bytes().iter().flat_map(|b| [b ^ 0x5a; 7]).collect(),
        });
        let sketches: Vec<_> = texts.map(|text| Sketch::of(&text)).collect();
        let sketches: Vec<_> = sketches.iter().collect();
        for preference in [Preference::Similar, Preference::Next] {
            assert_eq!(by_likeness(&sketches, preference)[..2], [0, 500]);
        }
    }

    #[test]
    fn every_sketch_comes_once() {
        for preference in [Preference::Similar, Preference::Next] {
            for count in [300, 20_000] {
                let sketches: Vec<_> =
                    (0..count).map(|i: u32| Sketch::of(&[i.to_le_bytes(); 3].concat())).collect();
                let mut order = by_likeness(&sketches.iter().collect::<Vec<_>>(), preference);
                order.sort_unstable();
                assert!(order.into_iter().eq(0..count));
            }
            assert!(by_likeness(&[], preference).is_empty());
        }
    }
}
