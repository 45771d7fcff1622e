//! Defines [`Locations`]: which bytes of which files an image stores where.

use std::{collections::HashMap, ops::Range};

use lith_format::{addr::Nid, file_type::FileType};
use lith_reader::{Error, Extent, ExtentKind, Image, Inode, Place};

/// Longer uncompressed extents are taken apart, so that few stretches start long before what they hold.
const LONGEST: u64 = 1 << 20;

/// The number of a file in [`Locations`].
type Number = u32;

/// Bytes of a file, and where they are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The bytes of the file.
    pub bytes: Range<u64>,
    /// Where they are stored on the image's own device; a compressed range can only be read as a whole.
    pub stored: Range<u64>,
    /// Whether a part of `stored` is enough for a part of `bytes`.
    pub is_plain: bool,
}

/// A stretch that belongs to a file.
#[derive(Clone, Debug)]
struct Stretch {
    file: Number,
    located: Located,
}

/// A range of a file, and where it is in the packed inode.
#[derive(Clone, Debug)]
struct Fragment {
    file: Number,
    bytes: Range<u64>,
    packed: Range<u64>,
}

#[derive(Debug)]
struct Known {
    path: Vec<u8>,
    nid: Nid,
    size: u64,
    is_directory: bool,
    /// Ranges that are stored beside the inode.
    inline: Vec<Range<u64>>,
    /// Ranges, each with its place in the packed inode.
    fragments: Vec<(Range<u64>, Range<u64>)>,
}

/// Which bytes of which files an image stores where on its own device.
#[derive(Debug, Default)]
pub struct Locations {
    files: Vec<Known>,
    by_path: HashMap<Vec<u8>, Number>,
    by_nid: HashMap<Nid, Number>,
    /// By where they are stored.
    stretches: Vec<Stretch>,
    /// The stretches of each file, by their numbers.
    of_file: HashMap<Number, Vec<usize>>,
    /// The stretches of the packed inode, likewise.
    packed: Vec<Located>,
    /// By where they are in the packed inode.
    fragments: Vec<Fragment>,
}

impl Locations {
    /// Reads where an image stores all its files.
    ///
    /// # Errors
    /// [`Error`] if a directory or an index can't be read.
    pub fn new(image: &Image) -> Result<Self, Error> {
        let mut all = Self::default();
        all.add(image, Vec::new(), &image.root()?)?;
        for entry in image.files() {
            let entry = entry?;
            all.add(image, entry.path, &entry.inode)?;
        }
        if let Some(packed) = image.packed_inode() {
            for extent in image.extents(packed)? {
                all.packed.extend(located(&extent?));
            }
        }
        all.stretches.sort_by_key(|stretch| stretch.located.stored.start);
        for (number, stretch) in all.stretches.iter().enumerate() {
            all.of_file.entry(stretch.file).or_default().push(number);
        }
        all.packed.sort_by_key(|located| located.stored.start);
        all.fragments.sort_by_key(|fragment| fragment.packed.start);
        Ok(all)
    }

    fn add(&mut self, image: &Image, path: Vec<u8>, inode: &Inode) -> Result<(), Error> {
        let Ok(file) = Number::try_from(self.files.len()) else { return Ok(()) };
        let is_directory = inode.file_type == FileType::Directory;
        let mut known = Known {
            path,
            nid: inode.nid,
            size: inode.size,
            is_directory,
            inline: Vec::new(),
            fragments: Vec::new(),
        };
        if is_directory || inode.file_type == FileType::Regular {
            for extent in image.extents(inode)? {
                let extent = extent?;
                let bytes = extent.la..extent.end();
                match extent.place {
                    Place::Metadata { .. } => known.inline.push(bytes),
                    Place::Packed { offset } => {
                        let packed = offset..offset.saturating_add(extent.len);
                        known.fragments.push((bytes.clone(), packed.clone()));
                        self.fragments.push(Fragment { file, bytes, packed });
                    }
                    _ => {
                        let stretch = |located| Stretch { file, located };
                        self.stretches.extend(located(&extent).into_iter().map(stretch));
                    }
                }
            }
        }
        self.by_nid.entry(inode.nid).or_insert(file);
        self.by_path.insert(known.path.clone(), file);
        self.files.push(known);
        Ok(())
    }

    /// The path of an inode, one of them if it has several.
    #[must_use]
    pub fn path(&self, nid: Nid) -> Option<&[u8]> {
        self.known(*self.by_nid.get(&nid)?).map(|known| known.path.as_slice())
    }

    /// The bytes of a file that is at a path; `None` if there is none.
    #[must_use]
    pub fn size(&self, path: &[u8]) -> Option<u64> {
        self.known(self.number(path)?).map(|known| known.size)
    }

    /// The inode at a path.
    #[must_use]
    pub fn nid(&self, path: &[u8]) -> Option<Nid> {
        self.known(self.number(path)?).map(|known| known.nid)
    }

    /// What is stored of a range of a file on the image's own device, in fragments included. What is beside the inode is
    /// left out.
    #[must_use]
    pub fn stored(&self, path: &[u8], range: &Range<u64>) -> Vec<Range<u64>> {
        let Some(file) = self.number(path) else { return Vec::new() };
        let numbers = self.of_file.get(&file).into_iter().flatten();
        let stretches = numbers.filter_map(|number| self.stretches.get(*number));
        let mut found: Vec<_> =
            stretches.filter_map(|stretch| part_of(&stretch.located, range)).collect();
        for (bytes, packed) in self.known(file).into_iter().flat_map(|known| &known.fragments) {
            if overlap(bytes, range).is_some() {
                let parts = self.packed.iter().filter_map(|located| part_of(located, packed));
                found.extend(parts);
            }
        }
        found.sort_by_key(|stored| stored.start);
        found
    }

    /// The paths of all files, that of a directory before those of its entries.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &[u8]> {
        self.files.iter().map(|known| known.path.as_slice())
    }

    /// The numbers of all files.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = Number> + use<> {
        0..Number::try_from(self.files.len()).unwrap_or(Number::MAX)
    }

    pub(crate) fn number(&self, path: &[u8]) -> Option<Number> {
        self.by_path.get(path).copied()
    }

    fn known(&self, file: Number) -> Option<&Known> {
        self.files.get(usize::try_from(file).ok()?)
    }

    /// The path of a file, and whether it is a directory.
    pub(crate) fn name(&self, file: Number) -> Option<(&[u8], bool)> {
        self.known(file).map(|known| (known.path.as_slice(), known.is_directory))
    }

    /// The ranges of a file that are stored beside its inode.
    pub(crate) fn inline(&self, file: Number) -> &[Range<u64>] {
        self.known(file).map_or(&[], |known| &known.inline)
    }

    /// Where a file's fragments are in the packed inode.
    pub(crate) fn packed_ranges(&self, file: Number) -> impl Iterator<Item = &Range<u64>> {
        self.known(file).into_iter().flat_map(|known| &known.fragments).map(|(_, packed)| packed)
    }

    /// The files, and the bytes of each, that are read by reading a range of the device.
    pub(crate) fn files_at(
        &self,
        stored: &Range<u64>,
    ) -> impl Iterator<Item = (Number, Range<u64>)> {
        let found = around(&self.stretches, stored, |stretch| &stretch.located.stored);
        found.filter_map(|stretch| Some((stretch.file, bytes_of(&stretch.located, stored)?)))
    }

    /// The ranges of the packed inode that are read by reading a range of the device.
    pub(crate) fn packed_at(&self, stored: &Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let found = around(&self.packed, stored, |located| &located.stored);
        found.filter_map(|located| bytes_of(located, stored))
    }

    /// The files that have fragments in a range of the packed inode, with the bytes of these.
    pub(crate) fn fragments_at(
        &self,
        packed: &Range<u64>,
    ) -> impl Iterator<Item = (Number, Range<u64>)> {
        let found = around(&self.fragments, packed, |fragment| &fragment.packed);
        found.map(|fragment| (fragment.file, fragment.bytes.clone()))
    }
}

/// The items whose ranges overlap a range, of those sorted by the starts of theirs. Few of them are long.
fn around<'a, T>(
    sorted: &'a [T],
    range: &Range<u64>,
    of: impl Fn(&T) -> &Range<u64> + Copy,
) -> impl Iterator<Item = &'a T> {
    /// The most bytes of a stretch: a pcluster has at most 2047 blocks of 64 KiB, a fragment less than that.
    const MOST: u64 = 2048 << 16;
    let first = sorted.partition_point(|item| of(item).start.saturating_add(MOST) < range.start);
    let end = sorted.partition_point(|item| of(item).start < range.end);
    let range = range.clone();
    let near = sorted.get(first..end).unwrap_or_default().iter();
    near.filter(move |item| of(item).end > range.start)
}

fn overlap(one: &Range<u64>, other: &Range<u64>) -> Option<Range<u64>> {
    let both = one.start.max(other.start)..one.end.min(other.end);
    (!both.is_empty()).then_some(both)
}

/// The bytes of a file that reading a part of the device reads.
fn bytes_of(located: &Located, stored: &Range<u64>) -> Option<Range<u64>> {
    let both = overlap(&located.stored, stored)?;
    if !located.is_plain {
        return Some(located.bytes.clone());
    }
    let skipped = both.start - located.stored.start;
    let start = located.bytes.start + skipped;
    overlap(&(start..start.saturating_add(both.end - both.start)), &located.bytes)
}

/// The part of the device that a range of the file needs.
fn part_of(located: &Located, range: &Range<u64>) -> Option<Range<u64>> {
    let both = overlap(&located.bytes, range)?;
    if !located.is_plain {
        return Some(located.stored.clone());
    }
    let start = located.stored.start + (both.start - located.bytes.start);
    Some(start..start + (both.end - both.start))
}

/// Where an extent is on the image's own device, in stretches of limited length.
fn located(extent: &Extent) -> Vec<Located> {
    let Place::Device(at) = extent.place else { return Vec::new() };
    if at.device != 0 || extent.plen == 0 {
        return Vec::new();
    }
    let start = at.pa.0;
    let bytes = extent.la..extent.end();
    if !matches!(extent.kind, ExtentKind::Flat | ExtentKind::Chunk) {
        return vec![Located {
            bytes,
            stored: start..start.saturating_add(extent.plen),
            is_plain: false,
        }];
    }
    let count = extent.len.div_ceil(LONGEST);
    let part = |number: u64| {
        let skipped = number * LONGEST;
        let len = LONGEST.min(extent.len - skipped);
        let (bytes, stored) = (bytes.start + skipped, start.saturating_add(skipped));
        Located {
            bytes: bytes..bytes + len,
            stored: stored..stored.saturating_add(len),
            is_plain: true,
        }
    };
    (0..count).map(part).collect()
}
