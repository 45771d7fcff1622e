//! Decides where a guide leads through the pclusters of a section, so that they are made again without searching.

use std::ops::Range;

use lith_codec::{Algorithm, strip_padding};
use lith_device::ReadAt;

use crate::{
    DeltaError,
    coding::{Coding, Encoders},
    guide::{EVENT, Guide, Index, Path, Reader, Reference, Traced, trace},
    plan::{Piece, Run, Surveyed},
    section::{Part, Section, Step},
    sequences::{self, Sequence},
    unit::{Form, Side, Unit, length},
};

/// What a section is made of.
#[derive(Clone, Copy)]
pub(crate) struct Made<'a> {
    pub(crate) section: &'a Section,
    pub(crate) pieces: &'a [Piece],
    pub(crate) content: &'a [u8],
    pub(crate) prefix: &'a [u8],
    pub(crate) codings: &'a [Coding],
}

/// A pcluster of LZ4 that is compressed again.
struct Pcluster {
    unit: Unit,
    coding: usize,
    /// Its content in that of the section, and where the content of its run ends.
    own: Range<usize>,
    end: usize,
    /// What it costs to lead through all of it.
    cost: f32,
    /// Its parts that the encoder can search for or be led through, and the number of the first sequence after them: the
    /// last part is cut where the room ends, and always searched for.
    islands: Vec<Island>,
    cut: usize,
}

/// Some sequences that an encoder finds together.
struct Island {
    /// The number of the first one.
    first: usize,
    /// The number of the first search, and how many there are: a later one may change what an earlier one found.
    searches: Range<u64>,
    bytes: usize,
    cost: f32,
}

/// How a pcluster is made.
enum Way {
    /// All of it is searched for.
    Search,
    /// Nothing is searched for.
    Lead,
    /// What is searched for of each island.
    Both(Vec<bool>),
}

/// The section with guides of at most `room` bytes, where they spare most work.
pub(crate) fn with_guides(
    made: Made<'_>,
    (old, new): (&dyn ReadAt, Surveyed<'_>),
    room: usize,
) -> Result<Section, DeltaError> {
    let Made { section, prefix, .. } = made;
    if room == 0 {
        return Ok(section.clone());
    }
    let reference = Reference::new(prefix, &section.prefix, [old, new.device]);
    let mut guiding = Guiding { made, new, reference, index: None, encoders: Encoders::default() };
    let pclusters = guiding.pclusters()?;
    let ways = |worth| -> Vec<Way> { pclusters.iter().map(|own| own.way(worth)).collect() };
    let (mut low, mut high) = WORTHS;
    // The first try allows everything.
    let (mut worth, mut best) = (high, None);
    for _ in 0..TRIES {
        let found = guiding.with_ways(&pclusters, &ways(worth), Trust::Unverified)?;
        if found.is_some_and(|found| found.guide.len() <= room) {
            (best, low) = (Some(worth), worth);
        } else {
            high = worth;
        }
        if low >= high {
            break;
        }
        worth = (low * high).sqrt();
    }
    let found = match best {
        Some(worth) => guiding.with_ways(&pclusters, &ways(worth), Trust::Verified)?,
        None => None,
    };
    Ok(found.unwrap_or_else(|| section.clone()))
}

/// How often it is tried how much of a guide there is room for.
const TRIES: usize = 9;
/// The fewest and the most bytes of a guide that a byte of content may be worth.
const WORTHS: (f32, f32) = (1e-5, 1.0);

/// Whether it is known that an encoder makes the pcluster.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    Verified,
    Unverified,
}

const LEVEL: i32 = 19;

impl Pcluster {
    /// How the pcluster is made if it is worth so many bytes of guide that a byte is not searched for.
    fn way(&self, worth: f32) -> Way {
        // What it costs up to an island if that is led through, and if it is searched for; and whether the way to each
        // leads through the island before it.
        let (mut lead, mut search) = (EVENT, 0.0);
        let mut before = Vec::new();
        for island in &self.islands {
            let again = search + 2.0 * EVENT;
            before.push((lead <= again, lead < search));
            let searched = worth * SEARCHED * bytes(island.bytes);
            (lead, search) = (lead.min(again) + island.cost, lead.min(search) + searched);
        }
        let whole = worth * bytes(self.own.len());
        let both = if self.islands.is_empty() {
            whole
        } else {
            lead.min(search) + EVENT + (1.0 - SEARCHED) * whole
        };
        if self.cost <= both.min(whole) {
            return Way::Lead;
        }
        let mut is_led = lead < search;
        let mut searched = vec![true; self.islands.len()];
        for (own, (if_led, if_searched)) in searched.iter_mut().zip(&before).rev() {
            *own = !is_led;
            is_led = if is_led { *if_led } else { *if_searched };
        }
        if searched.iter().all(|searched| *searched) { Way::Search } else { Way::Both(searched) }
    }
}

/// The part of an encoder's work that is done only where it searches. It enters all bytes into its indexes.
const SEARCHED: f32 = 0.7;

/// A number of bytes, about.
#[expect(clippy::cast_precision_loss, reason = "costs are estimates")]
const fn bytes(count: usize) -> f32 {
    count as f32
}

/// Makes the guides of a section.
struct Guiding<'a> {
    made: Made<'a>,
    new: Surveyed<'a>,
    reference: Reference<'a>,
    index: Option<Index>,
    encoders: Encoders,
}

impl Guiding<'_> {
    fn pclusters(&mut self) -> Result<Vec<Pcluster>, DeltaError> {
        let Made { section, pieces, .. } = self.made;
        let mut runs = pieces.iter().filter_map(|piece| match piece {
            Piece::Run(run) => Some(run),
            _ => None,
        });
        let (mut all, mut at) = (Vec::new(), 0);
        for part in &section.parts {
            match part {
                Part::Copy { .. } => {}
                Part::Bytes { len } => at += length(*len),
                Part::Run { len, .. } => {
                    let content = at..at + length(*len);
                    at = content.end;
                    let Some(run) = runs.next() else { break };
                    self.pclusters_of(run, content, &mut all)?;
                }
            }
        }
        Ok(all)
    }

    fn pclusters_of(
        &mut self,
        run: &Run,
        content: Range<usize>,
        all: &mut Vec<Pcluster>,
    ) -> Result<(), DeltaError> {
        let mut at = content.start;
        for (unit, len, coding) in units_of(run, self.new) {
            let own = at..at + length(len);
            at = own.end;
            let Some(coding) = coding else { continue };
            let (end, islands) = (content.end, Vec::new());
            let mut pcluster = Pcluster { unit, coding, own, end, cost: 0.0, islands, cut: 0 };
            let Some(sequences) = self.sequences(&pcluster)? else { continue };
            let total = |traced: &[Traced]| traced.iter().map(|traced| traced.cost).sum::<f32>();
            pcluster.cost = 2.0 * EVENT + total(&self.trace(&pcluster, &sequences, false));
            self.find_islands(&mut pcluster, &sequences);
            all.push(pcluster);
        }
        Ok(())
    }

    fn find_islands(&mut self, pcluster: &mut Pcluster, sequences: &[Sequence]) {
        let Made { content, codings, .. } = self.made;
        let Some(coding) = codings.get(pcluster.coding) else { return };
        let rest = content.get(pcluster.own.start..pcluster.end).unwrap_or_default();
        let Some(starts) = self.encoders.searches(*coding, rest) else { return };
        let traced = self.trace(pcluster, sequences, true);
        let mut starts = starts.into_iter().peekable();
        let mut islands: Vec<Island> = Vec::new();
        let mut count = 0;
        for (first, traced) in traced.iter().enumerate() {
            let bytes = traced.sequence.literals + traced.sequence.len;
            while let Some(start) = starts.next_if(|start| *start <= traced.at) {
                if start == traced.at {
                    let searches = count..count;
                    islands.push(Island { first, searches, bytes: 0, cost: 0.0 });
                }
                count += 1;
                if let Some(island) = islands.last_mut() {
                    island.searches.end = count;
                }
            }
            if let Some(island) = islands.last_mut() {
                island.bytes += bytes;
                island.cost += traced.cost;
            }
        }
        if let Some(last) = islands.pop() {
            (pcluster.islands, pcluster.cut) = (islands, last.first);
        }
    }

    fn trace(&mut self, pcluster: &Pcluster, all: &[Sequence], goes_on: bool) -> Vec<Traced> {
        let end = if goes_on { pcluster.end } else { pcluster.own.end };
        let content = self.made.content.get(pcluster.own.start..end).unwrap_or_default();
        let reference = &self.reference;
        let index = self.index.get_or_insert_with(|| Index::new(reference));
        trace(reference, index, content, all)
    }

    /// The sequences of a pcluster; `None`: it is none of LZ4, or of another form.
    fn sequences(&self, pcluster: &Pcluster) -> Result<Option<Vec<Sequence>>, DeltaError> {
        let Pcluster { unit, own, .. } = pcluster;
        let Form::Stream { algorithm: Algorithm::Lz4, .. } = unit.form else { return Ok(None) };
        let Some(content) = self.made.content.get(own.clone()) else { return Ok(None) };
        let stored = self.stored(unit)?;
        let Ok(stream) = strip_padding(&stored, stored.len()) else { return Ok(None) };
        let Some(all) = sequences::read(stream, content.len()) else { return Ok(None) };
        let (mut again, mut rest) = (Vec::new(), content);
        for sequence in &all {
            sequences::write(*sequence, rest, &mut again);
            rest = rest.get(sequence.literals + sequence.len..).unwrap_or_default();
        }
        Ok((again == stream).then_some(all))
    }

    fn stored(&self, unit: &Unit) -> Result<Vec<u8>, DeltaError> {
        let mut stored = vec![0; length(unit.stored)];
        let read = self.new.device.read_at(&mut stored, unit.position);
        read.map_err(|source| DeltaError::Image { image: Side::New.name(), source })?;
        Ok(stored)
    }

    /// The section if pclusters are made so; `None`: its guide is larger than guides may be.
    fn with_ways(
        &mut self,
        pclusters: &[Pcluster],
        ways: &[Way],
        trust: Trust,
    ) -> Result<Option<Section>, DeltaError> {
        let mut guide = Guide::default();
        let mut steps = Vec::new();
        for (pcluster, way) in pclusters.iter().zip(ways) {
            let step = match way {
                Way::Search => None,
                Way::Lead => self.lead(pcluster, &mut guide)?,
                Way::Both(searched) => {
                    self.lead_between((pcluster, searched), &mut guide, trust)?
                }
            };
            steps.extend(step.map(|step| (pcluster.own.start, step)));
        }
        if steps.is_empty() {
            return Ok(Some(self.made.section.clone()));
        }
        if !guide.is_allowed() {
            return Ok(None);
        }
        let guide = guide.pack(LEVEL).ok_or(DeltaError::Damaged("no memory"))?;
        Ok(Some(self.with_steps(steps, guide)))
    }

    fn lead(&mut self, pcluster: &Pcluster, guide: &mut Guide) -> Result<Option<Step>, DeltaError> {
        let Some(sequences) = self.sequences(pcluster)? else { return Ok(None) };
        let traced = self.trace(pcluster, &sequences, false);
        let content = self.made.content.get(pcluster.own.clone()).unwrap_or_default();
        guide.add((&self.reference, content), &traced, |_| None);
        Ok(Some(Step::Guided { len: pcluster.own.len() as u64 }))
    }

    /// `None`: the encoder makes another stream.
    fn lead_between(
        &mut self,
        (pcluster, searched): (&Pcluster, &[bool]),
        guide: &mut Guide,
        trust: Trust,
    ) -> Result<Option<Step>, DeltaError> {
        let Some(sequences) = self.sequences(pcluster)? else { return Ok(None) };
        let traced = self.trace(pcluster, &sequences, true);
        let content = self.made.content.get(pcluster.own.start..pcluster.end).unwrap_or_default();
        let islands = &pcluster.islands;
        let search_of = |number: usize| {
            let island = islands.partition_point(|island| island.first <= number).checked_sub(1)?;
            let is_searched = number >= pcluster.cut || searched.get(island) == Some(&true);
            islands.get(island).filter(|_| is_searched).map(|island| island.searches.clone())
        };
        let mut own = Guide::default();
        own.add((&self.reference, content), &traced, search_of);
        if trust == Trust::Verified && !self.makes(pcluster, content, &own)? {
            return Ok(None);
        }
        guide.append(&own);
        Ok(Some(Step::Along { coding: pcluster.coding, count: 1 }))
    }

    /// Whether the encoder makes the pcluster along a guide.
    fn makes(
        &mut self,
        pcluster: &Pcluster,
        content: &[u8],
        guide: &Guide,
    ) -> Result<bool, DeltaError> {
        let events = Reader::new(guide).next()?;
        let mut path = Path::new(&events, &self.reference, content);
        let Some(coding) = self.made.codings.get(pcluster.coding) else { return Ok(false) };
        let block = self.new.image.map_or(1, |image| image.superblock().block.size());
        let (block, mut out) = (length(block.into()), Vec::new());
        let filled = self.encoders.fill_along(*coding, (content, block), &mut path, &mut out);
        Ok(filled == Some(pcluster.own.len()) && out == self.stored(&pcluster.unit)?)
    }

    /// The section with these steps for the pclusters whose content starts there.
    fn with_steps(&self, steps: Vec<(usize, Step)>, guide: Vec<u8>) -> Section {
        let Made { section, pieces, .. } = self.made;
        let mut section = Section { guide, ..section.clone() };
        let mut runs = pieces.iter().filter_map(|piece| match piece {
            Piece::Run(run) => Some(run),
            _ => None,
        });
        let (mut chosen, mut at) = (steps.into_iter().peekable(), 0);
        for part in &mut section.parts {
            match part {
                Part::Copy { .. } => {}
                Part::Bytes { len } => at += length(*len),
                Part::Run { len, steps } => {
                    let mut start = at;
                    at += length(*len);
                    let Some(run) = runs.next() else { break };
                    let mut all = Vec::new();
                    for (_, len, coding) in units_of(run, self.new) {
                        let own = chosen.next_if(|(own, _)| *own == start).map(|(_, step)| step);
                        start += length(len);
                        let other = coding
                            .map_or(Step::Plain { len }, |coding| Step::Fill { coding, count: 1 });
                        push(&mut all, own.unwrap_or(other));
                    }
                    *steps = all;
                }
            }
        }
        section
    }
}

/// The units of a run, with the bytes of their content and the numbers of their codings; `None`: it is plain.
fn units_of(run: &Run, new: Surveyed<'_>) -> Vec<(Unit, u64, Option<usize>)> {
    let codings = run.steps.iter().flat_map(|step| match *step {
        Step::Fill { coding, count } => vec![Some(coding); length(count)],
        _ => vec![None],
    });
    let units = new.survey.units_in(run.position, run.stored);
    let units = units.filter_map(|number| new.survey.units.get(number));
    let all = units.zip(codings).map(|(unit, coding)| {
        let len = new.survey.origins.get(&unit.position).map_or(0, |origin| origin.len);
        (*unit, len, coding)
    });
    all.collect()
}

/// Adds a step, as one with the step before it where that is of the same kind.
fn push(all: &mut Vec<Step>, step: Step) {
    match (all.last_mut(), step) {
        (Some(Step::Fill { coding: own, count }), Step::Fill { coding, .. })
        | (Some(Step::Along { coding: own, count }), Step::Along { coding, .. })
            if *own == coding =>
        {
            *count += 1;
        }
        _ => all.push(step),
    }
}
