//! Makes the new image of the old one and a delta.

use std::{fs::File, io::Read, num::NonZeroUsize};

use lith_device::{DeviceError, ReadAt};
use lith_observer::{Observer, Phase};
use lith_parallel::try_map;
use lith_system::FileAt;
use sha2::{Digest, Sha256};

use crate::{
    DeltaError, Header,
    coding::Encoders,
    error::Difference,
    header::Identity,
    limits, pack,
    recode::Stored,
    section::{Part, Section, Step},
    unit::{Side, Unit, length},
};

/// Facts about a delta that was applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Applied {
    /// Bytes of the new image.
    pub bytes: u64,
    /// Bytes of it that were copied from the old image.
    pub copied: u64,
    /// Bytes of it that were compressed again.
    pub compressed: u64,
}

/// Bytes that are copied at once.
const STEP: u64 = 1 << 20;

/// Writes the new image to the beginning of `new`, which is empty or a device, and checks its digest.
///
/// The delta is read once, from its beginning to its end. Memory: at most some 150 MiB, and those of an encoder for each
/// worker.
///
/// # Errors
/// [`DeltaError`]; then nothing in `new` can be relied on.
pub fn apply(
    old: &dyn ReadAt,
    delta: &mut dyn Read,
    new: &File,
    (workers, observer): (NonZeroUsize, &dyn Observer),
) -> Result<Applied, DeltaError> {
    let header = Header::read(delta)?;
    let failed = |source| DeltaError::Image { image: Side::Old.name(), source };
    let (found, expected) = (old.size(), header.old.bytes);
    // A device may be longer than the image on it.
    if found < expected {
        return Err(DeltaError::WrongOld(Difference::Length { found, expected }));
    }
    let found = Identity::of(old, expected).map_err(failed)?;
    if let Some(difference) = header.old.difference(&found) {
        return Err(DeltaError::WrongOld(difference));
    }
    observer.begin(Phase::Storing);
    observer.expect(header.new.bytes);
    let mut making = Making {
        header: &header,
        old,
        new: Written::new(new, header.new.bytes),
        workers,
        observer,
    };
    let mut applied = Applied { bytes: header.new.bytes, ..Applied::default() };
    while let Some((section, packed)) = Section::read(delta)? {
        if observer.is_cancelled() {
            return Err(DeltaError::Cancelled);
        }
        making.section(&section, &packed, &mut applied)?;
    }
    let found = making.new.finish();
    match header.new.difference(&found) {
        Some(difference) => Err(DeltaError::WrongNew(difference)),
        None => Ok(applied),
    }
}

/// What a delta is applied with.
struct Making<'a> {
    header: &'a Header,
    old: &'a dyn ReadAt,
    new: Written<'a>,
    workers: NonZeroUsize,
    observer: &'a dyn Observer,
}

impl Making<'_> {
    fn section(
        &mut self,
        section: &Section,
        packed: &[u8],
        applied: &mut Applied,
    ) -> Result<(), DeltaError> {
        let prefix = read_prefix(section, self.old, &self.new, self.workers)?;
        let content = pack::unpack(packed, &prefix, length(section.content))?;
        drop(prefix);
        let mut made = self.runs(section, &content)?.into_iter();
        let mut rest = content.as_slice();
        for part in &section.parts {
            let before = self.new.position;
            match part {
                Part::Copy { position, len } => {
                    self.copy(*position, *len)?;
                    applied.copied += len;
                }
                Part::Bytes { len } => {
                    let (now, later) = split(rest, *len)?;
                    self.new.append(now)?;
                    rest = later;
                }
                Part::Run { len, .. } => {
                    let made = made.next().unwrap_or_default();
                    self.new.append(&made)?;
                    applied.compressed += made.len() as u64;
                    rest = split(rest, *len)?.1;
                }
            }
            self.observer.advance(self.new.position - before);
        }
        Ok(())
    }

    /// What the runs of a section become.
    fn runs(&self, section: &Section, content: &[u8]) -> Result<Vec<Vec<u8>>, DeltaError> {
        let (mut runs, mut rest): (Vec<(&[u8], &[Step])>, _) = (Vec::new(), content);
        for part in &section.parts {
            match part {
                Part::Copy { .. } => {}
                Part::Bytes { len } => rest = split(rest, *len)?.1,
                Part::Run { len, steps } => {
                    let (now, later) = split(rest, *len)?;
                    runs.push((now, steps));
                    rest = later;
                }
            }
        }
        let Header { block, codings, .. } = self.header;
        let stored = Stored { block: length((*block).into()), codings };
        let made =
            try_map(&runs, self.workers, Encoders::default, |encoders, (content, steps)| {
                stored.run(content, steps, encoders)
            })?;
        let all: usize = made.iter().map(Vec::len).sum();
        if all as u64 > limits::OUTPUT {
            return Err(DeltaError::Damaged("a section is too long"));
        }
        Ok(made)
    }

    fn copy(&mut self, mut position: u64, mut len: u64) -> Result<(), DeltaError> {
        let mut buf = Vec::new();
        while len > 0 {
            buf.resize(length(STEP.min(len)), 0);
            let read = self.old.read_at(&mut buf, position);
            read.map_err(|source| wrong_range(Side::Old, source))?;
            self.new.append(&buf)?;
            position += buf.len() as u64;
            len -= buf.len() as u64;
        }
        Ok(())
    }
}

/// The content of the units that a section's content resembles.
pub(crate) fn read_prefix(
    section: &Section,
    old: &dyn ReadAt,
    new: &dyn ReadAt,
    workers: NonZeroUsize,
) -> Result<Vec<u8>, DeltaError> {
    let share = section.prefix.len().div_ceil(workers.get()).max(1);
    let shares: Vec<_> = section.prefix.chunks(share).collect();
    let parts = try_map(&shares, workers, || (), |(), units| read_units(units, old, new))?;
    let mut parts = parts.into_iter();
    let mut prefix = parts.next().unwrap_or_default();
    parts.for_each(|part| prefix.extend(part));
    Ok(prefix)
}

fn read_units(
    units: &[(Side, Unit)],
    old: &dyn ReadAt,
    new: &dyn ReadAt,
) -> Result<Vec<u8>, DeltaError> {
    let mut all = Vec::new();
    for (side, unit) in units {
        let device = match side {
            Side::Old => old,
            Side::New => new,
        };
        let read = unit.read(device, &mut all);
        let read = read.map_err(|source| wrong_range(*side, source))?;
        read.ok_or(DeltaError::Damaged("a unit holds less than it should"))?;
    }
    Ok(all)
}

/// Why bytes of an image can't be read that a delta names.
fn wrong_range(side: Side, source: DeviceError) -> DeltaError {
    match source {
        DeviceError::PastEnd { .. } => DeltaError::Damaged("it names bytes that no image has"),
        source => DeltaError::Image { image: side.name(), source },
    }
}

fn split(bytes: &[u8], len: u64) -> Result<(&[u8], &[u8]), DeltaError> {
    let len = usize::try_from(len).ok();
    let parts = len.and_then(|len| bytes.split_at_checked(len));
    parts.ok_or(DeltaError::Damaged("parts have more content than there is"))
}

/// The new image, as far as it is written.
struct Written<'a> {
    file: &'a File,
    position: u64,
    expected: u64,
    hasher: Sha256,
}

impl<'a> Written<'a> {
    fn new(file: &'a File, expected: u64) -> Self {
        Self { file, position: 0, expected, hasher: Sha256::new() }
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), DeltaError> {
        let end = self.position + bytes.len() as u64;
        if end > self.expected {
            return Err(DeltaError::Damaged("the new image would be too long"));
        }
        self.file.write_all_at(bytes, self.position).map_err(DeltaError::Write)?;
        self.hasher.update(bytes);
        self.position = end;
        Ok(())
    }

    fn finish(self) -> Identity {
        Identity { bytes: self.position, digest: self.hasher.finalize().into() }
    }
}

impl ReadAt for Written<'_> {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), DeviceError> {
        let length = buf.len() as u64;
        if position.checked_add(length).is_none_or(|end| end > self.position) {
            return Err(DeviceError::PastEnd { position, length, size: self.position });
        }
        let read = self.file.read_exact_at(buf, position);
        read.map_err(|source| DeviceError::Io { position, length, source })
    }

    fn size(&self) -> u64 {
        self.position
    }
}
