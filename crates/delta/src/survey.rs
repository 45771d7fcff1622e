//! Defines [`Survey`], the units of an image and the files that they belong to.

use std::collections::{HashMap, HashSet};

use lith_codec::Algorithm;
use lith_format::{addr::Nid, compression};
use lith_reader::{Error, Extent, ExtentKind, Image, Inode, Place};
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    limits,
    unit::{Form, Unit},
};

/// The units of an image, which cover all its bytes, in their order, and what files say of them.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    pub(crate) units: Vec<Unit>,
    /// Where in which file the content of pclusters is, by their positions in the image.
    pub(crate) origins: HashMap<u64, Origin>,
    /// Which parts of files are where, by file and position in it.
    pub(crate) parts: Vec<Part>,
}

/// Where the content of a pcluster is in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Origin {
    pub(crate) nid: Nid,
    pub(crate) la: u64,
    /// Bytes of it.
    pub(crate) len: u64,
    /// Whether it is stored without compression, and `len` bytes of its block are used.
    pub(crate) is_plain: bool,
}

/// A part of a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Part {
    /// The hash of a path of the file.
    pub(crate) file: u64,
    pub(crate) la: u64,
    pub(crate) len: u64,
    /// The number of a unit that holds some of it.
    pub(crate) unit: usize,
}

/// Where an extent of a file is.
struct Piece {
    file: u64,
    la: u64,
    len: u64,
    at: Place,
}

/// The paths of the inodes that have none.
const PACKED: &[u8] = b"//packed";
const METABOX: &[u8] = b"//metabox";

impl Survey {
    /// Surveys an image of `bytes` bytes. What can't be understood of it, or is on another device, has no more structure
    /// than other bytes.
    pub(crate) fn of(image: Option<&Image>, bytes: u64) -> Self {
        let mut found = Found::default();
        if let Some(image) = image {
            found.read(image);
        }
        let units = fill_gaps(found.units, bytes);
        let mut survey = Self { units, origins: found.origins, parts: Vec::new() };
        survey.parts = survey.located(&found.pieces);
        survey
    }

    /// The numbers of the units that hold bytes from `position` on, at most so many bytes.
    pub(crate) fn units_in(&self, position: u64, len: u64) -> impl Iterator<Item = usize> {
        let first = self.units.partition_point(|unit| unit.end() <= position);
        let inside = self.units.iter().enumerate().skip(first);
        let end = position.saturating_add(len);
        inside.take_while(move |(_, unit)| unit.position < end).map(|(number, _)| number)
    }

    fn located(&self, pieces: &[Piece]) -> Vec<Part> {
        let packed = xxh3_64(PACKED);
        let mut packing: Vec<_> = pieces.iter().filter(|piece| piece.file == packed).collect();
        packing.sort_by_key(|piece| piece.la);
        let mut parts = Vec::new();
        for piece in pieces {
            let Piece { file, la, len, at } = *piece;
            match at {
                Place::Device(at) => parts.extend(
                    // The first units of a large part stand for all of it.
                    self.units_in(at.pa.0, len).take(PARTS).map(|unit| Part {
                        file,
                        la,
                        len,
                        unit,
                    }),
                ),
                Place::Packed { offset } => {
                    let first = packing.partition_point(|piece| piece.la + piece.len <= offset);
                    let inside = packing.iter().skip(first);
                    let inside = inside.take_while(|piece| piece.la < offset.saturating_add(len));
                    for piece in inside {
                        let Place::Device(at) = piece.at else { continue };
                        let unit = self.units_in(at.pa.0, 1).next();
                        parts.extend(unit.map(|unit| Part { file, la, len, unit }));
                    }
                }
                Place::Nowhere | Place::Metadata { .. } => {}
            }
        }
        parts.sort_unstable();
        parts
    }
}

/// The most units of an uncompressed part of a file that are looked at.
const PARTS: usize = 64;

/// What the files of an image name.
#[derive(Default)]
struct Found {
    units: Vec<Unit>,
    origins: HashMap<u64, Origin>,
    pieces: Vec<Piece>,
    seen: HashSet<Nid>,
}

impl Found {
    fn read(&mut self, image: &Image) {
        for (inode, path) in [(image.packed_inode(), PACKED), (image.metabox_inode(), METABOX)] {
            // A file that can't be read has no structure; its bytes are there all the same.
            let _ = inode.map_or(Ok(()), |inode| self.file(image, inode, path));
        }
        for entry in image.files().flatten() {
            let _ = self.file(image, &entry.inode, &entry.path);
        }
    }

    fn file(&mut self, image: &Image, inode: &Inode, path: &[u8]) -> Result<(), Error> {
        if !self.seen.insert(inode.nid) {
            return Ok(());
        }
        let file = xxh3_64(path);
        for extent in image.extents(inode)? {
            let extent = extent?;
            let Extent { la, len, place: at, .. } = extent;
            match at {
                Place::Device(place) if place.device > 0 => continue,
                Place::Device(place) => self.stored(inode.nid, &extent, place.pa.0),
                _ => {}
            }
            self.pieces.push(Piece { file, la, len, at });
        }
        Ok(())
    }

    fn stored(&mut self, nid: Nid, extent: &Extent, position: u64) {
        let Extent { la, len, plen: stored, .. } = *extent;
        let form = match extent.kind {
            ExtentKind::Compressed { algorithm, .. } if stored.max(len) <= limits::UNIT => {
                Form::Stream { algorithm: codec(algorithm), len }
            }
            _ => Form::Bytes,
        };
        self.units.push(Unit { position, stored, form });
        let is_plain = matches!(extent.kind, ExtentKind::Plain { interlaced: false });
        let is_whole =
            is_plain || matches!(extent.kind, ExtentKind::Compressed { partial: false, .. });
        if is_whole {
            let origin = Origin { nid, la, len, is_plain };
            self.origins.entry(position).or_insert(origin);
        }
    }
}

const fn codec(algorithm: compression::Algorithm) -> Algorithm {
    match algorithm {
        compression::Algorithm::Lz4 => Algorithm::Lz4,
        compression::Algorithm::Lzma => Algorithm::Lzma,
        compression::Algorithm::Deflate => Algorithm::Deflate,
        compression::Algorithm::Zstd => Algorithm::Zstd,
    }
}

/// Units that cover `bytes` bytes, of some that may overlap: of those at one position the one that holds most counts.
fn fill_gaps(mut found: Vec<Unit>, bytes: u64) -> Vec<Unit> {
    found.sort_unstable_by_key(|unit| (unit.position, std::cmp::Reverse(unit.len())));
    let (mut units, mut done) = (Vec::new(), 0);
    for unit in found {
        if unit.position < done || unit.stored == 0 || unit.end() > bytes {
            continue;
        }
        plain(&mut units, done..unit.position);
        done = unit.end();
        match unit.form {
            Form::Bytes => plain(&mut units, unit.position..done),
            Form::Stream { .. } => units.push(unit),
        }
    }
    plain(&mut units, done..bytes);
    units
}

/// Adds units of a range without structure.
fn plain(units: &mut Vec<Unit>, range: std::ops::Range<u64>) {
    let mut position = range.start;
    while position < range.end {
        let stored = limits::PLAIN_UNIT.min(range.end - position);
        units.push(Unit { position, stored, form: Form::Bytes });
        position += stored;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_cover_an_image_without_overlap() {
        let stream = |position, stored, len| {
            let form = Form::Stream { algorithm: Algorithm::Lz4, len };
            Unit { position, stored, form }
        };
        let found = vec![
            stream(8192, 4096, 5000),
            stream(8192, 4096, 9000),
            stream(10_000, 4096, 1),
            stream(300_000, 4096, 1),
            Unit { position: 20_000, stored: 100_000, form: Form::Bytes },
        ];
        let units = fill_gaps(found, 301_000);
        let mut end = 0;
        for unit in &units {
            assert_eq!(unit.position, end);
            assert!(unit.stored > 0);
            end = unit.end();
        }
        assert_eq!(end, 301_000);
        let streams: Vec<_> =
            units.iter().filter(|unit| unit.form != Form::Bytes).map(Unit::len).collect();
        assert_eq!(streams, [9000]);
        assert!(Survey::of(None, 0).units.is_empty());
    }
}
