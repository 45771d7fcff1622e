//! Gathers pieces to sections, and finds the units that the content of each resembles.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
    num::NonZeroUsize,
};

use lith_parallel::try_map;

use crate::{
    DeltaError, limits,
    plan::{Piece, Run, Surveyed, content},
    samples::samples,
    section::{Part, Section},
    survey,
    unit::{Form, Side, Unit, length},
};

/// A section, and where its content comes from.
#[derive(Default)]
pub(crate) struct Gathered {
    pub(crate) section: Section,
    pieces: Vec<Piece>,
}

impl Gathered {
    /// The section's content.
    pub(crate) fn content(&self, new: Surveyed<'_>) -> Result<Vec<u8>, DeltaError> {
        let mut all = Vec::new();
        for piece in &self.pieces {
            all.extend(content_of(piece, new)?);
        }
        Ok(all)
    }
}

/// A unit of one of the images, by its number there.
type Known = (Side, usize);

/// Units are looked for by one in `2^RARITY` of their bytes, or less often where there are many.
const RARITY: u32 = 5;
const MOST_SAMPLES: u64 = 1 << 24;
/// The most parts of a section.
const MOST_PARTS: usize = 1 << 16;
/// What a unit is worth that has a part of the same file, as a part of the bytes; and a near one of those without a file.
const SAME_FILE: u64 = 4;
const NEAR: u64 = 2 << 10;
/// How near these are.
const NEIGHBOURS: usize = 2;
/// Bytes that a unit has in common at least with a content to be in its prefix: so many, and such a part of the unit. What
/// is in a prefix costs time.
const LEAST: u64 = 64;
const LEAST_PART: u64 = 128;

/// Gathers pieces, which are in the order of the new image.
pub(crate) fn gather(
    old: Surveyed<'_>,
    new: Surveyed<'_>,
    pieces: Vec<Piece>,
    workers: NonZeroUsize,
) -> Result<Vec<Gathered>, DeltaError> {
    let mut gatherer = Gatherer::new(old, new, workers)?;
    for piece in pieces {
        gatherer.add(piece)?;
    }
    gatherer.close();
    Ok(gatherer.done)
}

struct Gatherer<'a> {
    old: Surveyed<'a>,
    new: Surveyed<'a>,
    rarity: u32,
    index: HashMap<u64, Known>,
    /// The parts of files that each unit of the new image has, by its number.
    files: Vec<(usize, survey::Part)>,
    /// The units of each image without a file.
    strays: [Vec<usize>; 2],
    done: Vec<Gathered>,
    open: Gathered,
    prefix: BTreeSet<Known>,
    prefix_len: u64,
    /// Where the next piece starts in the new image, and where the open section does.
    position: u64,
    start: u64,
}

impl<'a> Gatherer<'a> {
    fn new(
        old: Surveyed<'a>,
        new: Surveyed<'a>,
        workers: NonZeroUsize,
    ) -> Result<Self, DeltaError> {
        let units = &old.survey.units;
        let all: u64 = units.iter().map(Unit::len).sum();
        let rarity = RARITY + (all >> RARITY).div_ceil(MOST_SAMPLES).next_power_of_two().ilog2();
        let found = try_map(units, workers, Vec::new, |buf, unit| {
            buf.clear();
            let mut found = Vec::new();
            if unit.read(old.device, buf)?.is_some() {
                samples(buf, rarity, |sample| found.push(sample));
            }
            Ok(found)
        });
        let found =
            found.map_err(|source| DeltaError::Image { image: Side::Old.name(), source })?;
        let mut index = HashMap::new();
        for (number, samples) in found.into_iter().enumerate() {
            for sample in samples {
                index.entry(sample).or_insert((Side::Old, number));
            }
        }
        let mut files: Vec<_> = new.survey.parts.iter().map(|part| (part.unit, *part)).collect();
        files.sort_unstable();
        Ok(Self {
            old,
            new,
            rarity,
            index,
            files,
            strays: [strays(old), strays(new)],
            done: Vec::new(),
            open: Gathered::default(),
            prefix: BTreeSet::new(),
            prefix_len: 0,
            position: 0,
            start: 0,
        })
    }

    fn add(&mut self, piece: Piece) -> Result<(), DeltaError> {
        let stored = match &piece {
            Piece::Copy { len, .. } | Piece::Bytes { len, .. } => *len,
            Piece::Run(run) => run.stored,
        };
        if let Piece::Copy { position, len } = piece {
            self.copy(position, len);
        } else {
            let content = content_of(&piece, self.new)?;
            let alike = self.alike(&piece, &content);
            let new = alike.iter().filter(|known| !self.prefix.contains(known));
            let more: u64 = new.map(|known| self.unit(*known).len()).sum();
            let has_content = self.open.section.content > 0;
            let is_full = self.open.section.content + content.len() as u64 > limits::GOOD_CONTENT
                || self.prefix_len + more > limits::GOOD_PREFIX
                || self.open.section.parts.len() > MOST_PARTS;
            if has_content && is_full {
                self.close();
            }
            self.take(piece, content.len() as u64, alike);
            self.note(stored, &content);
        }
        self.position += stored;
        Ok(())
    }

    fn copy(&mut self, from: u64, bytes: u64) {
        match self.open.section.parts.last_mut() {
            Some(Part::Copy { position, len }) if *position + *len == from => *len += bytes,
            _ => self.open.section.parts.push(Part::Copy { position: from, len: bytes }),
        }
    }

    fn take(&mut self, piece: Piece, content: u64, alike: Vec<Known>) {
        for known in alike {
            if self.prefix.insert(known) {
                self.prefix_len += self.unit(known).len();
            }
        }
        let section = &mut self.open.section;
        section.content += content;
        match (&piece, section.parts.last_mut()) {
            (Piece::Run(Run { len, steps, .. }), _) => {
                section.parts.push(Part::Run { len: *len, steps: steps.clone() });
            }
            (_, Some(Part::Bytes { len })) => *len += content,
            _ => section.parts.push(Part::Bytes { len: content }),
        }
        self.open.pieces.push(piece);
    }

    /// Ends the open section.
    fn close(&mut self) {
        let mut gathered = std::mem::take(&mut self.open);
        if gathered.section.parts.is_empty() {
            return;
        }
        let prefix = std::mem::take(&mut self.prefix);
        let unit = |known: Known| (known.0, *self.unit(known));
        gathered.section.prefix = prefix.into_iter().map(unit).collect();
        self.prefix_len = 0;
        self.done.push(gathered);
        self.start = self.position;
    }

    fn unit(&self, (side, number): Known) -> &'a Unit {
        const NONE: &Unit = &Unit { position: 0, stored: 0, form: Form::Bytes };
        let units = match side {
            Side::Old => &self.old.survey.units,
            Side::New => &self.new.survey.units,
        };
        units.get(number).unwrap_or(NONE)
    }

    /// The units that a piece's content resembles, the most similar ones only.
    fn alike(&self, piece: &Piece, content: &[u8]) -> Vec<Known> {
        let mut shared: HashMap<Known, u64> = HashMap::new();
        samples(content, self.rarity, |sample| {
            if let Some(known) = self.index.get(&sample) {
                *shared.entry(*known).or_default() += 1 << self.rarity;
            }
        });
        self.add_relatives(piece, &mut shared);
        let is_there =
            |known: &Known| known.0 == Side::Old || self.unit(*known).end() <= self.start;
        let mut alike: Vec<_> = shared
            .into_iter()
            .filter(|(known, bytes)| *bytes >= LEAST.max(self.unit(*known).len() / LEAST_PART))
            .filter(|(known, _)| is_there(known))
            .map(|(known, bytes)| (Reverse(bytes), known))
            .collect();
        alike.sort_unstable();
        let room = (content.len() as u64 * 3 + (512 << 10)).min(limits::GOOD_PREFIX / 2);
        let mut used = 0;
        let fits = |known: &Known| {
            used += self.unit(*known).len();
            used <= room
        };
        alike.into_iter().map(|(_, known)| known).take_while(fits).collect()
    }

    /// Adds the units of the old image that have parts of the same files, or that are about where the piece is.
    fn add_relatives(&self, piece: &Piece, shared: &mut HashMap<Known, u64>) {
        let (position, len) = match piece {
            Piece::Copy { .. } => return,
            Piece::Bytes { position, len } => (*position, *len),
            Piece::Run(run) => (run.position, run.stored),
        };
        for number in self.new.survey.units_in(position, len) {
            let first = self.files.partition_point(|(unit, _)| *unit < number);
            let own = self.files.iter().skip(first).take_while(|(unit, _)| *unit == number);
            let mut is_stray = true;
            for (_, part) in own {
                is_stray = false;
                for other in same_file(self.old, part) {
                    let known = (Side::Old, other.unit);
                    *shared.entry(known).or_default() += part.len.min(other.len) / SAME_FILE;
                }
            }
            if is_stray {
                for near in self.near(number) {
                    *shared.entry((Side::Old, near)).or_default() += NEAR;
                }
            }
        }
    }

    /// The units without a file of the old image that are about where one of the new image is.
    fn near(&self, number: usize) -> impl Iterator<Item = usize> {
        let [old, new] = &self.strays;
        let at = new.partition_point(|stray| *stray < number);
        let middle = at * old.len() / new.len().max(1);
        let range = middle.saturating_sub(NEIGHBOURS)..middle + NEIGHBOURS + 1;
        let end = range.end.min(old.len());
        old.get(range.start.min(end)..end).unwrap_or_default().iter().copied()
    }

    /// Notes the content of new units, for pieces of later sections.
    fn note(&mut self, stored: u64, content: &[u8]) {
        let mut rest = content;
        for number in self.new.survey.units_in(self.position, stored) {
            let unit = self.unit((Side::New, number));
            let origin = self.new.survey.origins.get(&unit.position);
            let len = origin.map_or(unit.len(), |origin| origin.len.min(unit.len()));
            let (own, later) = rest.split_at_checked(length(len)).unwrap_or((rest, &[]));
            samples(own, self.rarity, |sample| {
                self.index.entry(sample).or_insert((Side::New, number));
            });
            rest = later;
        }
    }
}

/// The units of an image that belong to no file.
fn strays(of: Surveyed<'_>) -> Vec<usize> {
    let used: std::collections::HashSet<usize> =
        of.survey.parts.iter().map(|part| part.unit).collect();
    let plain = of.survey.units.iter().enumerate().filter(|(_, unit)| unit.form == Form::Bytes);
    plain.map(|(number, _)| number).filter(|number| !used.contains(number)).collect()
}

/// The parts of the same file in an image that are about where `part` is.
fn same_file<'a>(of: Surveyed<'a>, part: &survey::Part) -> impl Iterator<Item = &'a survey::Part> {
    const AROUND: u64 = 256 << 10;
    const MOST: usize = 32;
    let (file, start) = (part.file, part.la.saturating_sub(AROUND));
    let end = part.la.saturating_add(part.len).saturating_add(AROUND);
    let all = &of.survey.parts;
    let first = all
        .partition_point(|other| (other.file, other.la.saturating_add(other.len)) < (file, start));
    let near = all.iter().skip(first).take(MOST);
    near.take_while(move |other| other.file == file && other.la < end)
}

/// The content that a piece takes from the delta.
fn content_of(piece: &Piece, new: Surveyed<'_>) -> Result<Vec<u8>, DeltaError> {
    match piece {
        Piece::Copy { .. } => Ok(Vec::new()),
        Piece::Bytes { position, len } => {
            let mut bytes = vec![0; length(*len)];
            let read = new.device.read_at(&mut bytes, *position);
            read.map_err(|source| DeltaError::Image { image: Side::New.name(), source })?;
            Ok(bytes)
        }
        Piece::Run(run) => {
            let content = new.image.and_then(|image| content(image, run.nid, run.la, run.len));
            content.ok_or(DeltaError::Changed)
        }
    }
}
