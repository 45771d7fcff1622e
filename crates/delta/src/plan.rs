//! Decides how each range of the new image is made.

use std::{collections::HashMap, num::NonZeroUsize};

use lith_codec::{Algorithm, Compressor, LzmaEffort};
use lith_device::ReadAt;
use lith_format::{addr::Nid, compression::Configs};
use lith_parallel::try_map;
use lith_reader::Image;
use xxhash_rust::xxh3::xxh3_128;

use crate::{
    DeltaError,
    coding::{Coding, Encoders},
    limits,
    section::Step,
    survey::{Origin, Survey},
    unit::{Form, Side, Unit, length},
};

/// How a range of the new image is made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Piece {
    /// By copying what the old image has at `position`.
    Copy { position: u64, len: u64 },
    /// Of bytes that the delta holds; they are at `position` of the new image.
    Bytes { position: u64, len: u64 },
    /// By compressing content again.
    Run(Run),
}

/// Pclusters that are made again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Run {
    /// Where they are in the new image, and how many bytes.
    pub(crate) position: u64,
    pub(crate) stored: u64,
    /// Where their content is, and what the encoder looks at after it.
    pub(crate) nid: Nid,
    pub(crate) la: u64,
    pub(crate) len: u64,
    pub(crate) steps: Vec<Step>,
}

/// Builds cut files into pieces of at most so many bytes, each compressed by itself.
const SEGMENT: u64 = 16 << 20;
/// Pclusters of an algorithm on which encoders are tried.
const SAMPLES: usize = 16;

/// One of the two images.
#[derive(Clone, Copy)]
pub(crate) struct Surveyed<'a> {
    pub(crate) device: &'a dyn ReadAt,
    /// `None`: it can't be read as an image.
    pub(crate) image: Option<&'a Image>,
    pub(crate) survey: &'a Survey,
}

/// The pieces of the new image, in its order, and the codings that they use.
pub(crate) fn plan(
    old: Surveyed<'_>,
    new: Surveyed<'_>,
    recode: bool,
    workers: NonZeroUsize,
) -> Result<(Vec<Piece>, Vec<Coding>), DeltaError> {
    let tasks = tasks(old, new, recode, workers)?;
    let Some(image) = new.image else {
        return Ok((tasks.iter().flat_map(Task::as_bytes).collect(), Vec::new()));
    };
    let mut trying = Trying { image, device: new.device, codings: Vec::new() };
    trying.codings = trying.discover(&tasks)?;
    let pieces = try_map(&tasks, workers, Encoders::default, |encoders, task| match task {
        Task::Run(units) => trying.settle(units, encoders),
        Task::Known(_) => Ok(task.as_bytes()),
    })?;
    let pieces: Vec<Piece> = pieces.into_iter().flatten().collect();
    Ok((pieces, trying.codings))
}

/// What is found out about a range of the new image at once.
enum Task {
    Known(Piece),
    /// Pclusters of contiguous content, some of which may be made again.
    Run(Vec<(Unit, Origin)>),
}

impl Task {
    /// The task without compressing anything again.
    fn as_bytes(&self) -> Vec<Piece> {
        match self {
            Self::Known(piece) => vec![piece.clone()],
            Self::Run(units) => units.iter().map(|(unit, _)| bytes_of(unit)).collect(),
        }
    }
}

const fn bytes_of(unit: &Unit) -> Piece {
    Piece::Bytes { position: unit.position, len: unit.stored }
}

/// Finds what the old image holds as it is, and gathers the pclusters of the rest.
fn tasks(
    old: Surveyed<'_>,
    new: Surveyed<'_>,
    recode: bool,
    workers: NonZeroUsize,
) -> Result<Vec<Task>, DeltaError> {
    let held = digests(old, Side::Old, workers)?;
    let held: HashMap<(u128, u64), u64> = held
        .into_iter()
        .zip(&old.survey.units)
        .rev()
        .map(|(digest, unit)| ((digest, unit.stored), unit.position))
        .collect();
    let mut tasks: Vec<Task> = Vec::new();
    for (digest, unit) in digests(new, Side::New, workers)?.into_iter().zip(&new.survey.units) {
        let same = held.get(&(digest, unit.stored));
        let same = same.filter(|position| is_equal(old.device, **position, new.device, unit));
        let origin = new.survey.origins.get(&unit.position).filter(|_| recode);
        match (same, origin) {
            (Some(position), _) => {
                tasks.push(Task::Known(Piece::Copy { position: *position, len: unit.stored }));
            }
            (None, Some(origin)) => match tasks.last_mut() {
                Some(Task::Run(units)) if follows(units, unit, origin) => {
                    units.push((*unit, *origin));
                }
                _ => tasks.push(Task::Run(vec![(*unit, *origin)])),
            },
            (None, None) => tasks.push(Task::Known(bytes_of(unit))),
        }
    }
    Ok(tasks)
}

/// The digests of the stored bytes of all units of an image.
fn digests(of: Surveyed<'_>, side: Side, workers: NonZeroUsize) -> Result<Vec<u128>, DeltaError> {
    try_map(&of.survey.units, workers, Vec::new, |buf, unit| {
        buf.resize(length(unit.stored), 0);
        of.device.read_at(buf, unit.position).map(|()| xxh3_128(buf))
    })
    .map_err(|source| DeltaError::Image { image: side.name(), source })
}

/// Whether the old image has at `position` what a unit of the new one has.
fn is_equal(old: &dyn ReadAt, position: u64, new: &dyn ReadAt, unit: &Unit) -> bool {
    let mut both = [(); 2].map(|()| vec![0; length(unit.stored)]);
    let [a, b] = &mut both;
    // What can't be read was told when it was read before.
    old.read_at(a, position).is_ok() && new.read_at(b, unit.position).is_ok() && a == b
}

/// Whether a pcluster continues those of a task.
fn follows(units: &[(Unit, Origin)], unit: &Unit, origin: &Origin) -> bool {
    let (Some((first, start)), Some((last, end))) = (units.first(), units.last()) else {
        return false;
    };
    let content = origin.la.saturating_sub(start.la).saturating_add(origin.len);
    end.nid == origin.nid
        && end.la.checked_add(end.len) == Some(origin.la)
        && last.end() == unit.position
        && content <= limits::GOOD_RUN
        && unit.end() - first.position <= limits::GOOD_RUN
}

/// Tries which encoders make the pclusters of an image.
struct Trying<'a> {
    image: &'a Image,
    device: &'a dyn ReadAt,
    codings: Vec<Coding>,
}

impl Trying<'_> {
    /// The codings that make some of the pclusters. Those of an algorithm are in the order in which they were found.
    fn discover(&self, tasks: &[Task]) -> Result<Vec<Coding>, DeltaError> {
        let mut found: Vec<Coding> = Vec::new();
        let mut encoders = Encoders::default();
        for algorithm in [Algorithm::Lz4, Algorithm::Lzma, Algorithm::Deflate, Algorithm::Zstd] {
            let own = |unit: &Unit| matches!(unit.form, Form::Stream { algorithm: own, .. } if own == algorithm);
            let runs = tasks.iter().filter_map(|task| match task {
                Task::Run(units) if units.first().is_some_and(|(unit, _)| own(unit)) => Some(units),
                _ => None,
            });
            let runs: Vec<_> = runs.collect();
            let room = runs.iter().flat_map(|units| units.iter()).map(|(unit, _)| unit);
            let room = room.filter(|unit| own(unit)).map(|unit| unit.stored).max().unwrap_or(0);
            let step = runs.len().div_ceil(SAMPLES).max(1);
            for units in runs.iter().step_by(step) {
                let Some((unit, _)) = units.first() else { continue };
                let rooms = [room, unit.stored.next_power_of_two()];
                let rooms = rooms.into_iter().take(if rooms[0] == rooms[1] { 1 } else { 2 });
                let rooms: Vec<_> = rooms.filter_map(|room| u32::try_from(room).ok()).collect();
                let known = found.clone().into_iter();
                let all = compressors(algorithm, self.image.configs());
                let all = all.into_iter().flat_map(|compressor| {
                    rooms.iter().map(move |room| Coding { compressor, room: *room })
                });
                let mut all =
                    known.chain(all).filter(|coding| coding.compressor.algorithm() == algorithm);
                let coding = self.first_right(units, &mut all, &mut encoders)?;
                found.extend(coding.filter(|coding| !found.contains(coding)));
            }
        }
        Ok(found)
    }

    /// The first coding that makes the first pcluster of a task.
    fn first_right(
        &self,
        units: &[(Unit, Origin)],
        codings: &mut dyn Iterator<Item = Coding>,
        encoders: &mut Encoders,
    ) -> Result<Option<Coding>, DeltaError> {
        let Some((unit, origin)) = units.first() else { return Ok(None) };
        let Some(end) = self.ends(units).into_iter().next() else { return Ok(None) };
        let Some(content) = self.content(origin.nid, origin.la..end) else { return Ok(None) };
        let stored = self.stored(unit)?;
        for coding in codings {
            if self.makes(coding, (&content, origin.len), &stored, encoders)? {
                return Ok(Some(coding));
            }
        }
        Ok(None)
    }

    /// How the pclusters of a task are made.
    fn settle(
        &self,
        mut units: &[(Unit, Origin)],
        encoders: &mut Encoders,
    ) -> Result<Vec<Piece>, DeltaError> {
        let mut pieces = Vec::new();
        while let Some(((first, _), others)) = units.split_first() {
            if let Some((run, count)) = self.longest_run(units, encoders)? {
                pieces.push(Piece::Run(run));
                units = units.get(count..).unwrap_or_default();
            } else {
                pieces.push(bytes_of(first));
                units = others;
            }
        }
        Ok(pieces)
    }

    /// The run that makes the first pclusters, and how many.
    fn longest_run(
        &self,
        units: &[(Unit, Origin)],
        encoders: &mut Encoders,
    ) -> Result<Option<(Run, usize)>, DeltaError> {
        let Some((first, Origin { nid, la, .. })) = units.first().copied() else { return Ok(None) };
        for end in self.ends(units) {
            let Some(content) = self.content(nid, la..end) else { continue };
            let steps = self.steps(units, &content, encoders)?;
            let (count, has_fill) = steps.iter().fold((0, false), |(n, fills), step| match step {
                Step::Fill { count, .. } => (n + length(*count), true),
                Step::Plain { .. } => (n + 1, fills),
            });
            if let (true, Some((last, _))) = (has_fill, units.get(count.wrapping_sub(1))) {
                let (position, stored) = (first.position, last.end() - first.position);
                let len = end - la;
                return Ok(Some((Run { position, stored, nid, la, len, steps }, count)));
            }
        }
        Ok(None)
    }

    /// The steps that make the first pclusters of `content`.
    fn steps(
        &self,
        units: &[(Unit, Origin)],
        content: &[u8],
        encoders: &mut Encoders,
    ) -> Result<Vec<Step>, DeltaError> {
        let (mut steps, mut rest): (Vec<Step>, _) = (Vec::new(), content);
        for (unit, origin) in units {
            let stored = self.stored(unit)?;
            let Some((own, later)) = rest.split_at_checked(length(origin.len)) else { break };
            match unit.form {
                Form::Bytes => {
                    let padding = stored.get(own.len()..).unwrap_or_default();
                    let is_own = stored.starts_with(own) && padding.iter().all(|byte| *byte == 0);
                    if !(is_own && stored.len() == own.len().next_multiple_of(self.block())) {
                        break;
                    }
                    steps.push(Step::Plain { len: origin.len });
                }
                Form::Stream { algorithm, .. } => {
                    let mut right = None;
                    for (number, coding) in self.codings.iter().enumerate() {
                        if coding.compressor.algorithm() == algorithm
                            && self.makes(*coding, (rest, origin.len), &stored, encoders)?
                        {
                            right = Some(number);
                            break;
                        }
                    }
                    let Some(right) = right else { break };
                    match steps.last_mut() {
                        Some(Step::Fill { coding, count }) if *coding == right => *count += 1,
                        _ => steps.push(Step::Fill { coding: right, count: 1 }),
                    }
                }
            }
            rest = later;
        }
        Ok(steps)
    }

    /// Whether a coding makes exactly these stored bytes of the first `len` bytes of the content.
    fn makes(
        &self,
        coding: Coding,
        (content, len): (&[u8], u64),
        stored: &[u8],
        encoders: &mut Encoders,
    ) -> Result<bool, DeltaError> {
        let mut out = Vec::new();
        let filled = encoders.fill(coding, (content, self.block()), &mut out)?;
        Ok(filled == Some(length(len)) && out == stored)
    }

    fn block(&self) -> usize {
        length(self.image.superblock().block.size().into())
    }

    fn stored(&self, unit: &Unit) -> Result<Vec<u8>, DeltaError> {
        let mut stored = vec![0; length(unit.stored)];
        let read = self.device.read_at(&mut stored, unit.position);
        read.map_err(|source| DeltaError::Image { image: Side::New.name(), source })?;
        Ok(stored)
    }

    /// Content of a file; `None`: it can't be read.
    fn content(&self, nid: Nid, range: std::ops::Range<u64>) -> Option<Vec<u8>> {
        content(self.image, nid, range.start, range.end.checked_sub(range.start)?)
    }

    /// Where the content may end that an encoder was given to make a task's first pclusters: a little after them, with the
    /// largest segment of builds, with them, or, at the end of a smaller segment, with the first one.
    fn ends(&self, units: &[(Unit, Origin)]) -> Vec<u64> {
        let (Some((_, first)), Some((_, last))) = (units.first(), units.last()) else {
            return Vec::new();
        };
        let Ok(inode) = self.image.inode(first.nid) else { return Vec::new() };
        let segment = (first.la / SEGMENT + 1).saturating_mul(SEGMENT).min(inode.size);
        let own = last.la.saturating_add(last.len);
        let behind = own.saturating_add(limits::LOOKAHEAD).min(segment);
        let mut ends = vec![behind, segment, own, first.la.saturating_add(first.len)];
        ends.retain(|end| (first.la..=inode.size).contains(end));
        ends.dedup();
        ends
    }
}

/// Content of a file; `None`: it can't be read.
pub(crate) fn content(image: &Image, nid: Nid, la: u64, len: u64) -> Option<Vec<u8>> {
    let inode = image.inode(nid).ok()?;
    let mut content = vec![0; usize::try_from(len).ok()?];
    image.file(&inode).ok()?.read_at(&mut content, la).ok()?;
    Some(content)
}

/// The encoders of an algorithm that are tried, in this order: those that builds use most often first.
fn compressors(algorithm: Algorithm, configs: &Configs) -> Vec<Compressor> {
    match algorithm {
        Algorithm::Lz4 => {
            let levels = [12, 9, 10, 11, 8, 7, 6, 5, 4, 3, 2, 1];
            let hc = levels.map(|level| Compressor::Lz4Hc { level });
            [Compressor::Lz4].into_iter().chain(hc).collect()
        }
        Algorithm::Deflate => {
            let levels = [9, 6, 12, 1, 2, 3, 4, 5, 7, 8, 10, 11];
            levels.map(|level| Compressor::Deflate { level }).into()
        }
        Algorithm::Zstd => {
            let declared = configs.zstd.map(|config| 1 << config.window_log);
            let levels =
                [9, 3, 15, 19, 22, 12, 6, 1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 16, 17, 18, 20, 21];
            let all = levels.into_iter().flat_map(|level| {
                [None, declared].map(|window| Compressor::Zstd { level, window })
            });
            all.collect()
        }
        Algorithm::Lzma => {
            let declared = configs.lzma.map(|config| config.dict_size);
            let levels = [6, 9, 2, 1, 3, 4, 5, 7, 8, 0].map(LzmaEffort::new);
            let all = levels.into_iter().flat_map(|effort| [effort, effort.extreme()]);
            let all = all.flat_map(|effort| {
                let given = declared.map(|bytes| effort.with_dictionary(bytes));
                [Some(effort), given].into_iter().flatten().map(Compressor::Lzma)
            });
            all.collect()
        }
    }
}
