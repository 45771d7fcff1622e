//! Defines [`Collector`], which collects [`Details`] while inodes are walked, and its [`Options`].

use std::{borrow::Cow, cmp::Reverse, collections::BTreeMap, mem, ops::Range};

use lith_format::addr::Nid;
use lith_reader::{File, Image};
use lith_survey::{Allowance, RangeMap, Table, tables};

use crate::{
    claims::Claims,
    equal::Candidates,
    error::FactsError,
    facts::{Class, Details, Device, Duplicates, Largest, Sums, TypeSums},
    file_kind,
    folders::{Entry, Folders},
    largest::Ranking,
    physical,
};

/// Files of each ranking that are listed as the largest.
const LARGEST: usize = 25;
/// Files of each ranking that are listed in their folders.
const IN_FOLDERS: usize = 400;
/// Types that are distinguished.
const TYPES: usize = 4096;
/// Files whose type is determined by their first bytes.
const PROBES: u32 = 20_000;

/// What is gathered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// Whether equal files that are stored several times are searched for: reads all files of equal sizes.
    pub equal_files: bool,
}

/// The details so far.
pub(crate) struct Collector {
    pub(crate) folders: Folders,
    types: BTreeMap<Cow<'static, str>, Sums>,
    /// Whose the bytes of metadata on the primary device are.
    metadata: Claims<Class>,
    by_bytes: Ranking,
    by_stored: Ranking,
    /// Files whose first bytes may still be read.
    probes: u32,
    /// Files that may be equal, if these are requested.
    equal: Option<Candidates>,
}

impl Collector {
    pub(crate) fn new(
        image: &Image,
        steps: Allowance,
        options: Options,
    ) -> Result<Self, FactsError> {
        let mut metadata = Claims::new(steps);
        for (table, range) in tables(image) {
            let class = match table {
                Table::Superblock => Class::Superblock,
                Table::Devices => Class::DeviceTable,
                Table::XattrPrefixes => Class::XattrPrefixes,
            };
            metadata.claim(range, class, |_| ())?;
        }
        Ok(Self {
            folders: Folders::new(),
            types: BTreeMap::new(),
            metadata,
            by_bytes: Ranking::new(IN_FOLDERS),
            by_stored: Ranking::new(IN_FOLDERS),
            probes: PROBES,
            equal: options.equal_files.then(Candidates::default),
        })
    }

    /// Claims metadata of the primary device. Inodes have it up to where another one may start.
    pub(crate) fn claim(&mut self, range: Range<u64>, class: Class) -> Result<(), FactsError> {
        let whole = range.end.checked_next_multiple_of(Nid::SLOT);
        let end = if class == Class::Inodes { whole.unwrap_or(range.end) } else { range.end };
        self.metadata.claim(range.start..end, class, |_| ())?;
        Ok(())
    }

    /// Adds a regular file with its sums. `is_repeat`: all its data, except inline data, is stored for another file.
    pub(crate) fn see_file(
        &mut self,
        file: &File<'_>,
        sums: &Sums,
        is_repeat: bool,
        entry: Entry<'_>,
    ) {
        self.folders.count(entry.folder, sums);
        self.by_bytes.see(sums.bytes, sums, entry);
        self.by_stored.see(sums.stored, sums, entry);
        if let Some(equal) = self.equal.as_mut().filter(|_| !is_repeat) {
            equal.see(file.inode().nid, sums, entry);
        }
        let by_name = file_kind::by_name(entry.name);
        let kind = by_name.unwrap_or_else(|| Cow::Borrowed(self.probe(file)));
        let is_listed = self.types.len() < TYPES || self.types.contains_key(&kind);
        let kind = if is_listed { kind } else { Cow::Borrowed("other") };
        self.types.entry(kind).or_default().add(sums);
    }

    /// The type of a file by its first bytes.
    fn probe(&mut self, file: &File<'_>) -> &'static str {
        let Some(left) = self.probes.checked_sub(u32::from(file.size() > 0)) else {
            return "other";
        };
        self.probes = left;
        let mut start = [0; file_kind::PROBE];
        let length = usize::try_from(file.size()).unwrap_or(start.len()).min(start.len());
        let (start, _) = start.split_at_mut(length);
        file.read_at(start, 0).map_or("unreadable", |()| file_kind::by_content(start))
    }

    /// All folders, and sums by type.
    pub(crate) fn into_sums(self) -> (Folders, BTreeMap<String, Sums>) {
        let types = self.types.into_iter();
        (self.folders, types.map(|(name, sums)| (name.into_owned(), sums)).collect())
    }

    /// The details, except those of the packed inode.
    pub(crate) fn finish(
        self,
        image: &Image,
        data: &[Claims<Class>],
        duplicates: Duplicates,
    ) -> Details {
        let equal_files = self.equal.map(|equal| equal.compare(image, &self.folders));
        let largest = Largest {
            by_bytes: self.by_bytes.largest(&self.folders, LARGEST),
            by_stored: self.by_stored.largest(&self.folders, LARGEST),
        };
        let large: BTreeMap<_, _> = self.by_bytes.iter().chain(self.by_stored.iter()).collect();
        let folders = self.folders.root(large.into_values());
        let types = self.types.into_iter();
        let mut types: Vec<_> =
            types.map(|(name, all)| TypeSums { name: name.into_owned(), all }).collect();
        types.sort_by_key(|sums| Reverse((sums.all.stored, sums.all.bytes)));
        Details {
            folders,
            types,
            packed_rest: 0,
            largest,
            duplicates,
            equal_files,
            devices_map: devices(image, self.metadata.ranges, data),
        }
    }
}

fn devices(image: &Image, mut metadata: RangeMap<Class>, data: &[Claims<Class>]) -> Vec<Device> {
    // The primary device takes the metadata, and leaves none to the others.
    let map = |(data, number): (&Claims<Class>, u16)| {
        physical::map(number, image.device_size(number), mem::take(&mut metadata), &data.ranges)
    };
    data.iter().zip(0..).map(map).collect()
}
