//! Says which sequences an LZ4 pcluster has, by those of similar ones: so it is made again without any search for matches.
//!
//! A [`Follower`] goes along a place of the prefix, whose sequences it knows, and predicts the next sequence of the content
//! from what was chosen there. Only where that is wrong, or it has to go on elsewhere, a [`Guide`] has something to say.

use std::{ops::Range, sync::OnceLock};

use lith_codec::{Algorithm, strip_padding};
use lith_device::ReadAt;

use crate::{
    DeltaError, limits, pack,
    sequences::{self, LAST_LITERALS, LEAST_MATCH, Sequence},
    unit::{Form, Side, Unit, length},
    wire::{Cursor, put, put_step, step},
};

/// Sequences of the prefix after one that can't be repeated that are tried.
const TRIED: usize = 4;
/// Bytes after which a match that was interrupted may go on.
const INTERRUPTION: usize = 8;

/// The farthest distance of a match.
const FARTHEST: usize = 65_535;
/// Places followed before that matches may lead back to.
const REMEMBERED: usize = 4;

/// A match in the prefix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    /// Where it starts and ends in the prefix.
    pub(crate) start: usize,
    end: usize,
    distance: usize,
}

/// A prefix, with the sequences of its units.
pub(crate) struct Reference<'a> {
    bytes: &'a [u8],
    devices: [&'a dyn ReadAt; 2],
    /// The units, and where they start in the prefix.
    units: Vec<(usize, Side, Unit)>,
    marks: Vec<OnceLock<Vec<Mark>>>,
}

impl<'a> Reference<'a> {
    /// A prefix that is made of `units` of the old device and the new one.
    pub(crate) fn new(
        bytes: &'a [u8],
        units: &[(Side, Unit)],
        devices: [&'a dyn ReadAt; 2],
    ) -> Self {
        let mut start = 0;
        let units = units.iter().map(|(side, unit)| {
            let own = start;
            start += length(unit.len());
            (own, *side, *unit)
        });
        let units: Vec<_> = units.collect();
        let marks = units.iter().map(|_| OnceLock::new()).collect();
        Self { bytes, devices, units, marks }
    }

    /// The matches of a unit; none if it is no LZ4 pcluster.
    pub(crate) fn marks(&self, number: usize) -> &[Mark] {
        let Some(marks) = self.marks.get(number) else { return &[] };
        marks.get_or_init(|| self.read(number).unwrap_or_default())
    }

    pub(crate) const fn count(&self) -> usize {
        self.units.len()
    }

    fn read(&self, number: usize) -> Option<Vec<Mark>> {
        let (mut at, side, unit) = *self.units.get(number)?;
        let Form::Stream { algorithm: Algorithm::Lz4, .. } = unit.form else { return None };
        let [old, new] = self.devices;
        let device = if side == Side::Old { old } else { new };
        let mut stored = vec![0; length(unit.stored)];
        device.read_at(&mut stored, unit.position).ok()?;
        let stream = strip_padding(&stored, stored.len()).ok()?;
        // A unit can be the beginning of what its pcluster holds.
        let all = sequences::read_up_to(stream, length(unit.len()))?;
        let marks = all.into_iter().map(|Sequence { literals, len, distance }| {
            let start = at + literals;
            at = start + len;
            Mark { start, end: at, distance }
        });
        Some(marks.filter(|mark| mark.distance > 0).collect())
    }

    /// The unit that has a place of the prefix.
    fn unit_at(&self, place: usize) -> Option<usize> {
        self.units.partition_point(|(start, ..)| *start <= place).checked_sub(1)
    }

    fn end_of(&self, number: usize) -> usize {
        let next = self.units.get(number + 1);
        next.map_or(self.bytes.len(), |(start, ..)| *start)
    }
}

/// Predicts the sequences of a content by a place in the prefix.
#[derive(Clone)]
pub(crate) struct Follower<'a> {
    reference: &'a Reference<'a>,
    content: &'a [u8],
    /// The place in the prefix that is like the content's first byte, modulo 2^64, which need not be in it; `None`: it
    /// follows nothing yet.
    place: Option<u64>,
    /// What was followed before, the newest first: what lies before an insertion is at other distances.
    before: [Option<u64>; REMEMBERED],
    unit: usize,
    mark: usize,
}

impl<'a> Follower<'a> {
    pub(crate) const fn new(reference: &'a Reference<'a>, content: &'a [u8]) -> Self {
        Self {
            reference,
            content,
            place: None,
            before: [None; REMEMBERED],
            unit: usize::MAX,
            mark: 0,
        }
    }

    /// Follows another place: the one that is like the byte at `at` of the content.
    pub(crate) fn jump(&mut self, at: usize, place: u64) {
        let place = place.wrapping_sub(at as u64);
        if self.place == Some(place) {
            return;
        }
        self.before.rotate_right(1);
        self.before[0] = self.place.replace(place);
        (self.unit, self.mark) = (usize::MAX, 0);
    }

    /// The place that is like a byte of the content.
    pub(crate) fn place_of(&self, at: usize) -> Option<u64> {
        self.place.map(|place| place.wrapping_add(at as u64))
    }

    /// The sequence that is expected at `at`, where the literals of one begin.
    pub(crate) fn predict(&mut self, at: usize) -> Sequence {
        let last = Sequence { literals: self.content.len() - at, len: 0, distance: 0 };
        self.next_match(at).unwrap_or(last)
    }

    fn next_match(&mut self, at: usize) -> Option<Sequence> {
        let place = usize::try_from(self.place_of(at)?).ok()?;
        let reference = self.reference;
        if place >= reference.bytes.len() {
            return None;
        }
        if self.unit >= reference.count() || place >= reference.end_of(self.unit) {
            (self.unit, self.mark) = (reference.unit_at(place)?, 0);
        }
        let marks = reference.marks(self.unit);
        let after = marks.get(self.mark..).unwrap_or_default();
        // Most are the next one; after a jump it can be any.
        self.mark += match after.iter().take(TRIED).position(|mark| mark.end > place) {
            Some(near) => near,
            None => after.partition_point(|mark| mark.end <= place),
        };
        let after = marks.get(self.mark..).unwrap_or_default();
        after.iter().take(TRIED).find_map(|mark| self.repeat(at, place, *mark))
    }

    /// The match of the same bytes, as far as the content has them.
    fn repeat(&self, at: usize, place: usize, mark: Mark) -> Option<Sequence> {
        let same = self.repeat_at(at, place, (mark, mark.distance));
        let others = self.before.iter().flatten().filter_map(|before| {
            let farther = before.wrapping_sub(self.place?);
            let distance = (mark.distance as u64).wrapping_add(farther);
            let distance =
                usize::try_from(distance).ok().filter(|far| (1..=FARTHEST).contains(far))?;
            self.repeat_at(at, place, (mark, distance))
        });
        // The longest, and the nearest of several.
        same.into_iter().chain(others).min_by_key(|found| {
            let end = found.literals + found.len;
            (std::cmp::Reverse(end), found.literals, found.distance)
        })
    }

    /// The match of the content at a distance that is like one of the prefix.
    fn repeat_at(
        &self,
        at: usize,
        place: usize,
        (mark, distance): (Mark, usize),
    ) -> Option<Sequence> {
        let first = at + mark.start.saturating_sub(place);
        let bytes = self.reference.bytes;
        let limit = self.content.len().checked_sub(LAST_LITERALS)?;
        let content = self.content.get(..limit)?;
        let (start, len) = (first..first + INTERRUPTION).find_map(|start| {
            let len = common(content, start, distance)?;
            (len >= LEAST_MATCH).then_some((start, len))
        })?;
        let is_equal = |bytes: &[u8], at: usize, distance: usize| {
            let before = at.checked_sub(distance).and_then(|before| bytes.get(before));
            before.is_some() && before == bytes.get(at)
        };
        // It ended there although it could have gone on.
        let was_cut = is_equal(bytes, mark.end, mark.distance);
        let most = (at + mark.end.saturating_sub(place)).saturating_sub(start);
        let len = if was_cut && most >= LEAST_MATCH { len.min(most) } else { len };
        let could_start_before =
            mark.start.checked_sub(1).is_some_and(|at| is_equal(bytes, at, mark.distance));
        let mut earlier = start;
        while !could_start_before && earlier > at && is_equal(content, earlier - 1, distance) {
            earlier -= 1;
        }
        Some(Sequence { literals: earlier - at, len: len + start - earlier, distance })
    }
}

/// How many bytes from `at` on equal those `distance` before them.
fn common(bytes: &[u8], at: usize, distance: usize) -> Option<usize> {
    let (earlier, later) = (bytes.get(at.checked_sub(distance)?..)?, bytes.get(at..)?);
    let mut equal = 0;
    for (a, b) in earlier.chunks_exact(8).zip(later.chunks_exact(8)) {
        let both = [a, b].map(|eight| eight.first_chunk().map(|eight| u64::from_le_bytes(*eight)));
        let [Some(a), Some(b)] = both else { break };
        if a != b {
            return Some(equal + ((a ^ b).trailing_zeros() / 8) as usize);
        }
        equal += 8;
    }
    let (earlier, later) = (earlier.iter().skip(equal), later.iter().skip(equal));
    Some(equal + earlier.zip(later).take_while(|(a, b)| a == b).count())
}

/// What is to be said of the sequences of pclusters, by its nature.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Guide {
    /// For each event how many predictions before it are right.
    runs: Vec<u8>,
    /// For each event what it is.
    codes: Vec<u8>,
    /// Lengths that are not as predicted, and how often matches are searched for.
    lengths: Vec<u8>,
    /// Distances that are not as predicted.
    distances: Vec<u8>,
    /// Places to follow.
    places: Vec<u8>,
}

/// The follower goes on elsewhere.
const JUMP: u8 = 0;
/// No more is said.
const END: u8 = 1;
/// A sequence is another one than predicted. Further bits: what of it is as predicted.
const OTHER: u8 = 2;
/// The encoder searches for some matches itself.
const SEARCH: u8 = 3;
const KIND: u8 = 3;
const SAME_LITERALS: u8 = 4;
const SAME_DISTANCE: u8 = 8;
/// The match is as long as it can be.
const LONGEST: u8 = 16;
/// There is no match.
const LAST: u8 = 32;

/// Sequences after one that decide which place to follow.
const SIGHT: usize = 8;

/// A sequence of a pcluster, and how it is best led to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traced {
    pub(crate) sequence: Sequence,
    /// Where its literals begin.
    pub(crate) at: usize,
    /// What the follower follows.
    place: Option<u64>,
    /// Bytes that are to be said to follow this far from the sequence before.
    pub(crate) cost: f32,
}

/// Bytes that an event takes, about, when it is packed.
pub(crate) const EVENT: f32 = 2.5;

/// What is predicted of the sequences of a pcluster, if the best places are followed that are known.
pub(crate) fn trace(
    reference: &Reference<'_>,
    index: &Index,
    content: &[u8],
    all: &[Sequence],
) -> Vec<Traced> {
    let mut follower = Follower::new(reference, content);
    let mut at = 0;
    let traced = all.iter().enumerate().map(|(number, sequence)| {
        let (mut guess, mut cost) = (follower.predict(at), 0.0);
        if guess != *sequence {
            let next = all.get(number..).unwrap_or_default();
            let next = next.get(..SIGHT).unwrap_or(next);
            if let Some(place) = index.better_place(&follower, at, next) {
                follower.jump(at, place);
                guess = follower.predict(at);
                cost += EVENT;
            }
        }
        if guess != *sequence {
            cost += EVENT;
        }
        let traced = Traced { sequence: *sequence, at, place: follower.place, cost };
        at += sequence.literals + sequence.len;
        traced
    });
    traced.collect()
}

impl Guide {
    /// Adds what leads through the sequences of a pcluster; of those that are to be searched for, `searches` has the
    /// numbers of the searches.
    pub(crate) fn add(
        &mut self,
        (reference, content): (&Reference<'_>, &[u8]),
        traced: &[Traced],
        searches: impl Fn(usize) -> Option<Range<u64>>,
    ) {
        let mut follower = Follower::new(reference, content);
        let (mut run, mut skipped) = (0, None);
        for (number, traced) in traced.iter().enumerate() {
            if let Some(Range { start, end }) = searches(number) {
                skipped = Some(skipped.map_or(start, |Range { start, .. }| start)..end);
                continue;
            }
            if let Some(Range { start, end }) = skipped.take() {
                put(&mut self.lengths, end - start);
                self.event(&mut run, SEARCH);
            }
            if follower.place != traced.place
                && let Some(next) = traced.place
            {
                let (from, next) =
                    (follower.place_of(traced.at), next.wrapping_add(traced.at as u64));
                put_step(&mut self.places, from.unwrap_or(0), next);
                self.event(&mut run, JUMP);
                follower.jump(traced.at, next);
            }
            let guess = follower.predict(traced.at);
            if guess == traced.sequence {
                run += 1;
            } else {
                self.other(&mut run, content, (guess, traced));
            }
        }
        self.event(&mut run, END);
    }

    fn event(&mut self, run: &mut u64, code: u8) {
        put(&mut self.runs, std::mem::take(run));
        self.codes.push(code);
    }

    fn other(&mut self, run: &mut u64, content: &[u8], (guess, traced): (Sequence, &Traced)) {
        let Traced { sequence: found, at, .. } = *traced;
        let mut code = OTHER;
        if found.literals == guess.literals {
            code |= SAME_LITERALS;
        } else {
            put(&mut self.lengths, found.literals as u64);
        }
        if found.len == 0 {
            return self.event(run, code | LAST);
        }
        if found.distance == guess.distance {
            code |= SAME_DISTANCE;
        } else {
            self.distances.extend(found.distance.to_le_bytes().into_iter().take(2));
        }
        let longest = longest(content, at + found.literals, found.distance).unwrap_or(0);
        if longest == found.len {
            code |= LONGEST;
        } else {
            put(&mut self.lengths, found.len.saturating_sub(LEAST_MATCH) as u64);
        }
        self.event(run, code);
    }

    /// Bytes of it.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.parts().iter().map(|part| part.len()).sum()
    }

    const fn parts(&self) -> [&Vec<u8>; 5] {
        let Self { runs, codes, lengths, distances, places } = self;
        [runs, codes, lengths, distances, places]
    }

    /// Adds what another one says after this.
    pub(crate) fn append(&mut self, other: &Self) {
        let Self { runs, codes, lengths, distances, places } = self;
        let own = [runs, codes, lengths, distances, places];
        own.into_iter().zip(other.parts()).for_each(|(own, more)| own.extend_from_slice(more));
    }

    /// Whether a delta may have so much.
    pub(crate) fn is_allowed(&self) -> bool {
        self.parts().iter().all(|part| part.len() as u64 <= limits::GUIDE)
    }

    /// All of it as bytes.
    pub(crate) fn pack(&self, level: i32) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        for part in self.parts() {
            let packed = pack::pack(part, &[], level)?;
            put(&mut out, part.len() as u64);
            put(&mut out, packed.len() as u64);
            out.extend(packed);
        }
        Some(out)
    }

    /// Reads such bytes; nothing is said if there are none.
    pub(crate) fn unpack(bytes: &[u8]) -> Result<Self, DeltaError> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let mut cursor = Cursor(bytes);
        let mut part = || {
            let len = cursor.number_up_to(limits::GUIDE)?;
            let packed = length(cursor.number_up_to(limits::GUIDE)?);
            pack::unpack(cursor.bytes(packed)?, &[], length(len))
        };
        Ok(Self {
            runs: part()?,
            codes: part()?,
            lengths: part()?,
            distances: part()?,
            places: part()?,
        })
    }
}

/// The longest match of a content at a distance.
fn longest(content: &[u8], start: usize, distance: usize) -> Option<usize> {
    common(content.get(..content.len().checked_sub(LAST_LITERALS)?)?, start, distance)
}

/// What a guide says of one pcluster, each event after so many predictions that are right.
#[derive(Debug, Default)]
pub(crate) struct Events(Vec<(u64, Event)>);

#[derive(Clone, Copy, Debug)]
enum Event {
    /// To the place that differs so from the one that would follow.
    Jump(u64),
    Search(u64),
    End,
    Other {
        literals: Option<usize>,
        distance: Option<usize>,
        len: Length,
    },
}

#[derive(Clone, Copy, Debug)]
enum Length {
    None,
    Longest,
    Exactly(usize),
}

/// What is left to read of a guide.
pub(crate) struct Reader<'a>([Cursor<'a>; 5]);

impl<'a> Reader<'a> {
    pub(crate) fn new(guide: &'a Guide) -> Self {
        Self(guide.parts().map(|part| Cursor(part)))
    }

    /// What is said of the next pcluster.
    pub(crate) fn next(&mut self) -> Result<Events, DeltaError> {
        let mut all = Vec::new();
        loop {
            let [runs, codes, lengths, _, places] = &mut self.0;
            let run = runs.number()?;
            let [code] = *codes.bytes(1)? else { return Err(WRONG) };
            let event = match code & KIND {
                JUMP => Event::Jump(places.number()?),
                SEARCH => Event::Search(lengths.number()?),
                OTHER => self.other(code)?,
                _ => Event::End,
            };
            all.push((run, event));
            if let Event::End = event {
                return Ok(Events(all));
            }
        }
    }

    fn other(&mut self, code: u8) -> Result<Event, DeltaError> {
        let [_, _, lengths, distances, _] = &mut self.0;
        let small = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let has = |flag: u8| code & flag != 0;
        let literals = if has(SAME_LITERALS) { None } else { Some(small(lengths.number()?)) };
        if has(LAST) {
            return Ok(Event::Other { literals, distance: None, len: Length::None });
        }
        let distance = if has(SAME_DISTANCE) {
            None
        } else {
            let two = distances.bytes(2)?.first_chunk().ok_or(WRONG)?;
            Some(usize::from(u16::from_le_bytes(*two)))
        };
        let len = if has(LONGEST) {
            Length::Longest
        } else {
            Length::Exactly(small(lengths.number()?).saturating_add(LEAST_MATCH))
        };
        Ok(Event::Other { literals, distance, len })
    }
}

const NOTHING: Event = Event::Search(0);
const WRONG: DeltaError = DeltaError::Damaged("a guide leads nowhere");

/// The way of a guide through a content.
pub(crate) struct Path<'a> {
    events: std::slice::Iter<'a, (u64, Event)>,
    follower: Follower<'a>,
    /// Predictions that are right before the event.
    run: u64,
    event: Event,
    /// Matches that the encoder searches for before that.
    searches: u64,
}

impl<'a> Path<'a> {
    pub(crate) fn new(events: &'a Events, reference: &'a Reference<'a>, content: &'a [u8]) -> Self {
        let follower = Follower::new(reference, content);
        Self { events: events.0.iter(), follower, run: 0, event: NOTHING, searches: 0 }
    }

    /// The sequence whose literals begin at `at`; `None`: it is to be searched for.
    pub(crate) fn next(&mut self, at: usize) -> Option<Sequence> {
        // Before the first event, and after each, there is one to be taken.
        loop {
            if self.searches > 0 {
                self.searches -= 1;
                return None;
            }
            if self.run > 0 {
                self.run -= 1;
                return Some(self.follower.predict(at));
            }
            let event = std::mem::replace(&mut self.event, NOTHING);
            let found = self.take(event, at);
            match self.events.next() {
                Some((run, event)) => (self.run, self.event) = (*run, *event),
                None => self.event = Event::End,
            }
            if found.is_some() {
                return found;
            }
        }
    }

    fn take(&mut self, event: Event, at: usize) -> Option<Sequence> {
        match event {
            Event::Jump(number) => {
                let from = self.follower.place_of(at).unwrap_or(0);
                self.follower.jump(at, step(from, number).unwrap_or(u64::MAX));
                None
            }
            Event::Search(count) => {
                self.searches = count;
                None
            }
            Event::End => {
                self.searches = u64::MAX;
                None
            }
            Event::Other { literals, distance, len } => {
                let guess = self.follower.predict(at);
                let literals = literals.unwrap_or(guess.literals);
                let distance = distance.unwrap_or(guess.distance);
                let start = at.checked_add(literals)?;
                let len = match len {
                    Length::None => 0,
                    Length::Longest => longest(self.follower.content, start, distance)?,
                    Length::Exactly(len) => len,
                };
                Some(Sequence { literals, len, distance })
            }
        }
    }
}

impl Events {
    /// The stream of a pcluster that holds `content`, of which nothing is to be searched for.
    pub(crate) fn follow(
        &self,
        reference: &Reference<'_>,
        content: &[u8],
    ) -> Result<Vec<u8>, DeltaError> {
        let (mut path, mut at, mut out) = (Path::new(self, reference, content), 0, Vec::new());
        while at < content.len() {
            let sequence = path.next(at).ok_or(WRONG)?;
            let Sequence { literals, len, .. } = sequence;
            let end = at.checked_add(literals).and_then(|end| end.checked_add(len));
            let end = end.filter(|end| *end <= content.len() && *end > at).ok_or(WRONG)?;
            sequences::write(sequence, content.get(at..).ok_or(WRONG)?, &mut out);
            at = end;
        }
        Ok(out)
    }
}

/// Where in a prefix sequences begin with the same bytes.
pub(crate) struct Index {
    slots: Vec<[u32; WAYS]>,
    shift: u32,
}

/// Places that are known for each hash.
const WAYS: usize = 4;

impl Index {
    pub(crate) fn new(reference: &Reference<'_>) -> Self {
        let bits = reference.bytes.len().max(1 << 12).ilog2() - 2;
        let mut index = Self { slots: vec![[u32::MAX; WAYS]; 1 << bits], shift: 64 - bits };
        for number in 0..reference.count() {
            for mark in reference.marks(number) {
                index.enter(reference.bytes, mark.end);
            }
        }
        index
    }

    fn enter(&mut self, bytes: &[u8], place: usize) {
        let Some(slot) = self.slot(bytes, place) else { return };
        if let (Some(slot), Ok(place)) = (self.slots.get_mut(slot), u32::try_from(place)) {
            slot.rotate_right(1);
            slot[0] = place;
        }
    }

    fn slot(&self, bytes: &[u8], place: usize) -> Option<usize> {
        let eight = bytes.get(place..)?.first_chunk()?;
        let hash = u64::from_le_bytes(*eight).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift;
        usize::try_from(hash).ok()
    }

    /// A place by which more of the next sequences, which begin at `at`, are predicted than by that which is followed.
    fn better_place(&self, follower: &Follower<'_>, at: usize, next: &[Sequence]) -> Option<u64> {
        let slot = self.slot(follower.content, at).and_then(|slot| self.slots.get(slot));
        let places = slot.into_iter().flatten().filter(|place| **place < u32::MAX);
        let tried = places.map(|place| {
            let mut other = follower.clone();
            other.jump(at, (*place).into());
            (right(other, at, next), u64::from(*place))
        });
        let (count, place) = tried.max_by_key(|(count, _)| *count)?;
        (count > right(follower.clone(), at, next) + 1).then_some(place)
    }
}

/// How many sequences are predicted.
fn right(mut follower: Follower<'_>, mut at: usize, next: &[Sequence]) -> usize {
    let is_right = |sequence: &&Sequence| {
        let guess = follower.predict(at);
        at += sequence.literals + sequence.len;
        guess == **sequence
    };
    next.iter().filter(is_right).count()
}

#[cfg(test)]
mod tests {
    use lith_codec::{Compressor, Encoder};
    use lith_device::MemoryDevice;

    use super::*;

    /// Text of which each part occurs elsewhere, too.
    fn text(seed: u32, len: usize) -> Vec<u8> {
        let mut state = seed;
        let words = std::iter::repeat_with(move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            format!("{} ", (state >> 16) % 700).into_bytes()
        });
        words.flatten().take(len).collect()
    }

    /// A pcluster, and the bytes that it holds.
    fn pcluster(text: &[u8]) -> (Vec<u8>, usize) {
        let compressor: Compressor = "lz4hc,12".parse().unwrap();
        let mut room = vec![0; 16 << 10];
        let fit = Encoder::new(&compressor).fill(text, &mut room).unwrap().unwrap();
        room.truncate(fit.written);
        (room, fit.consumed)
    }

    /// A reference of one pcluster that holds what `text` begins with.
    fn with_reference(text: &[u8], work: impl FnOnce(&Reference<'_>)) {
        let (stored, len) = pcluster(text);
        let form = Form::Stream { algorithm: Algorithm::Lz4, len: len as u64 };
        let unit = Unit { position: 0, stored: stored.len() as u64, form };
        let (old, new) = (MemoryDevice::new(stored), MemoryDevice::new(Vec::new()));
        work(&Reference::new(&text[..len], &[(Side::Old, unit)], [&old, &new]));
    }

    #[test]
    fn a_guide_leads_to_the_same_stream_and_says_little_of_what_did_not_change() {
        let old = text(1, 60_000);
        let mut new = old.clone();
        new.splice(20_000..20_003, *b"changed");
        with_reference(&old, |reference| {
            for (text, most) in [(&old, 12), (&new, 400), (&text(2, 60_000), 60_000)] {
                let (stream, len) = pcluster(text);
                let content = &text[..len];
                let all = sequences::read(&stream, len).unwrap();
                let traced = trace(reference, &Index::new(reference), content, &all);
                let mut guide = Guide::default();
                guide.add((reference, content), &traced, |_| None);
                assert!(guide.len() <= most, "{} of {most}", guide.len());
                let packed = guide.pack(19).unwrap();
                let guide = Guide::unpack(&packed).unwrap();
                let events = Reader::new(&guide).next().unwrap();
                assert!(events.follow(reference, content).unwrap() == stream);
            }
        });
    }

    #[test]
    fn wrong_guides_lead_nowhere_and_end() {
        let old = text(1, 60_000);
        with_reference(&old, |reference| {
            for seed in 0..60 {
                let part = |number: u32| text(seed * 5 + number, 400).into_iter();
                let noise = |number| part(number).map(|byte| byte.wrapping_mul(41)).collect();
                let guide = Guide {
                    runs: part(0).map(|byte| byte % 9).collect(),
                    codes: part(1).map(|byte| byte.wrapping_mul(13) % 64).collect(),
                    lengths: noise(2),
                    distances: noise(3),
                    places: noise(4),
                };
                let mut reader = Reader::new(&guide);
                while let Ok(events) = reader.next() {
                    let _ = events.follow(reference, &old[..30_000]);
                    let mut path = Path::new(&events, reference, &old);
                    let mut known = |at: usize| {
                        let Sequence { literals, len, distance } = path.next(at)?;
                        let start = at.checked_add(literals)?;
                        Some(lith_codec::Sequence { start, len, distance })
                    };
                    let mut room = [0; 4096];
                    let mut encoder = Encoder::new(&"lz4hc,12".parse().unwrap());
                    let fit = encoder.fill_along(&old, &mut room, &mut known).unwrap();
                    let mut held = vec![0; fit.consumed];
                    lith_codec::decode(Algorithm::Lz4, &room[..fit.written], &mut held).unwrap();
                    assert!(held == old[..fit.consumed], "{seed}");
                }
            }
        });
    }
}
