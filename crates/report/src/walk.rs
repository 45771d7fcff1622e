//! Collects facts about an image: walks its inodes once, and attributes its bytes to what they hold.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
};

use lith_format::{addr::Nid, compression::Algorithm, file_type::FileType, inode::InodeForm};
use lith_reader::{Extent, ExtentKind, File, Image, Inode, Place, Space};
use lith_survey::Budget;

use crate::{
    claims::Claims,
    details::{Collector, Options},
    error::{FactsError, take},
    facts::{Class, Contents, Details, Duplicates, Facts, Summary, Sums},
    folders::{Entry, FolderIndex, Folders},
    number::ratio,
    shared::SharedInode,
};

/// Counts what is in an image. Reads every inode and the map of every file, but no data.
///
/// # Errors
/// [`FactsError`] if a part of the image is corrupt or can't be read.
pub fn census(image: &Image) -> Result<Contents, FactsError> {
    let mut walk = Walk::new(image, None)?;
    walk.run()?;
    Ok(walk.finish().0)
}

/// Gathers all facts about an image, except its estimated size with other options. Reads what [`census()`] reads, and
/// directories, extended attributes, symlinks and the first bytes of some files.
///
/// # Errors
/// As [`census()`].
pub fn gather(image: &Image, options: Options) -> Result<Facts, FactsError> {
    let mut walk = Walk::new(image, Some(options))?;
    walk.run()?;
    let (contents, details) = walk.finish();
    Ok(Facts { details, ..Facts::new(Summary::new(image), Some(contents)) })
}

/// The walk through all inodes.
pub(crate) struct Walk<'a> {
    image: &'a Image,
    budget: Budget,
    contents: Contents,
    visits: lith_survey::Walk<Visit>,
    /// By device, whose the bytes that extents refer to are.
    data: Vec<Claims<Class>>,
    packed: SharedInode,
    metabox: SharedInode,
    /// Stored bytes of fragments, attributed to files.
    fragments: u64,
    duplicates: Duplicates,
    collector: Option<Collector>,
    /// The sums of each regular file, if they are to be recorded.
    files: Option<HashMap<Nid, Sums>>,
}

/// What was recorded of all files.
pub(crate) struct Recorded {
    pub(crate) all: Sums,
    pub(crate) folders: Folders,
    pub(crate) types: BTreeMap<String, Sums>,
    pub(crate) files: HashMap<Nid, Sums>,
}

/// What is remembered of an inode.
#[derive(Clone, Copy)]
enum Visit {
    /// A regular file of so many bytes.
    File(u64),
    Folder(FolderIndex),
    Other,
}

/// The stored bytes of an extent.
#[derive(Clone, Copy, Default)]
struct Taken {
    /// Stored bytes that no extent before refers to.
    stored: u64,
    /// Bytes of its content that are stored for an extent before.
    again: u64,
}

impl<'a> Walk<'a> {
    /// A walk that counts, and collects details if there are options for them.
    pub(crate) fn new(image: &'a Image, details: Option<Options>) -> Result<Self, FactsError> {
        let budget = Budget::new(image);
        let (steps, devices) = (budget.steps, image.device_map().slots.len() + 1);
        let collector = details.map(|options| Collector::new(image, steps, options)).transpose()?;
        Ok(Self {
            image,
            budget,
            contents: Contents::default(),
            visits: lith_survey::Walk::default(),
            data: (0..devices).map(|_| Claims::new(steps)).collect(),
            packed: SharedInode::new(steps),
            metabox: SharedInode::new(steps),
            fragments: 0,
            duplicates: Duplicates::default(),
            collector,
            files: None,
        })
    }

    /// Records the sums of each regular file.
    pub(crate) fn record(&mut self) {
        self.files = Some(HashMap::new());
    }

    /// What was recorded; nothing unless it was requested, together with details.
    pub(crate) fn recorded(self) -> Recorded {
        let files = self.files.unwrap_or_default();
        let (folders, types) =
            self.collector.map_or_else(|| (Folders::new(), BTreeMap::new()), Collector::into_sums);
        let mut all = Sums::default();
        for sums in types.values() {
            all.add(sums);
        }
        Recorded { all, folders, types, files }
    }

    /// Reads the metabox and the packed inode, in which other inodes and files are stored.
    pub(crate) fn see_shared_inodes(&mut self) -> Result<(), FactsError> {
        let metabox = self.image.metabox_inode().map(|inode| (inode, Class::Metabox));
        let packed = self.image.packed_inode().map(|inode| (inode, Class::Packed));
        let mut both = metabox.into_iter().chain(packed);
        both.try_for_each(|(inode, class)| self.see_shared(inode, class))
    }

    /// Walks through everything.
    pub(crate) fn run(&mut self) -> Result<(), FactsError> {
        self.see_shared_inodes()?;
        let root = Entry { folder: FolderIndex::ROOT, name: b"" };
        self.meet(self.image.superblock().root_nid, root)?;
        while let Some(directory) = self.visits.next_directory() {
            take(&mut self.budget.directories, directory.size, "directories")?;
            let folder = match self.visits.note(directory.nid) {
                Some(Visit::Folder(folder)) => *folder,
                _ => FolderIndex::ROOT,
            };
            for entry in self.image.read_dir(&directory)? {
                let entry = entry?;
                self.contents.names += 1;
                self.meet(entry.nid, Entry { folder, name: &entry.name })?;
            }
        }
        Ok(())
    }

    /// The counts, and the details if they were requested.
    pub(crate) fn finish(mut self) -> (Contents, Option<Details>) {
        let contents = &mut self.contents;
        let stored = contents.data.values().map(|tally| tally.stored);
        contents.stored = stored.fold(0, u64::saturating_add);
        contents.ratio = ratio(contents.stored, contents.bytes);
        let rest = self.packed.total.saturating_sub(self.fragments);
        let (image, data, duplicates) = (self.image, &self.data, self.duplicates);
        let details = self.collector.map(|collector| collector.finish(image, data, duplicates));
        let details = details.map(|details| Details { packed_rest: rest, ..details });
        (self.contents, details)
    }

    /// The stored bytes of a range of a file that nothing before refers to.
    pub(crate) fn stored(&mut self, inode: &Inode, range: Range<u64>) -> Result<u64, FactsError> {
        let mut sum: u64 = 0;
        for extent in self.image.file(inode)?.extents_from(range.start) {
            let extent = extent?;
            let (start, end) = (extent.la.max(range.start), extent.end().min(range.end));
            if start >= end {
                break;
            }
            let taken = self.take(&extent, class_of(extent.kind))?;
            sum = sum.saturating_add(part(taken.stored, end - start, extent.len));
        }
        Ok(sum)
    }

    /// Reads the packed or the metabox inode, which have no names.
    fn see_shared(&mut self, inode: &Inode, class: Class) -> Result<(), FactsError> {
        let file = self.image.file(inode)?;
        self.see_metadata(inode, Some(&file))?;
        for extent in file.extents() {
            let extent = extent?;
            let taken = self.take(&extent, class)?;
            if class == Class::Packed {
                self.packed.push(&extent, taken.stored);
                self.count_extent(&extent, taken.stored);
            } else {
                self.metabox.push(&extent, taken.stored);
            }
        }
        Ok(())
    }

    /// Visits the inode that a name refers to, unless it was met before.
    fn meet(&mut self, nid: Nid, entry: Entry<'_>) -> Result<(), FactsError> {
        if let Some(visit) = self.visits.note(nid) {
            if let Visit::File(bytes @ 1..) = visit {
                self.duplicates.hard_links.add(*bytes);
            }
            return Ok(());
        }
        let inode = self.image.inode(nid)?;
        let contents = &mut self.contents;
        *contents.kinds.entry(inode.file_type).or_default() += 1;
        contents.compact_inodes += u64::from(inode.form == InodeForm::Compact);
        contents.inodes_with_xattrs += u64::from(inode.xattr_icount > 0);
        let visit = match inode.file_type {
            FileType::Regular => Visit::File(inode.size),
            FileType::Directory => Visit::Folder(match &mut self.collector {
                Some(collector) if !entry.name.is_empty() => collector.folders.add(entry),
                _ => entry.folder,
            }),
            _ => Visit::Other,
        };
        self.visits.add(&inode, visit);
        match inode.file_type {
            FileType::Regular => self.see_file(&inode, entry),
            FileType::Directory => self.see_blocks(&inode, Class::Directories),
            FileType::Symlink => self.see_blocks(&inode, Class::Symlinks),
            _ => self.see_metadata(&inode, None),
        }
    }

    fn see_file(&mut self, inode: &Inode, entry: Entry<'_>) -> Result<(), FactsError> {
        let file = self.image.file(inode)?;
        self.see_metadata(inode, Some(&file))?;
        let (mut sum, mut inline) = (Taken::default(), 0_u64);
        for extent in file.extents() {
            let extent = extent?;
            let Taken { stored, again } = self.take(&extent, class_of(extent.kind))?;
            sum.stored = sum.stored.saturating_add(stored);
            sum.again = sum.again.saturating_add(again);
            let is_inline = matches!(extent.place, Place::Metadata { .. });
            inline = inline.saturating_add(if is_inline { stored } else { 0 });
            // Stored fragments are counted as extents of the packed inode.
            let is_fragment = extent.kind == ExtentKind::Fragment;
            self.fragments += if is_fragment { stored } else { 0 };
            self.count_extent(&extent, if is_fragment { 0 } else { stored });
        }
        self.contents.bytes = self.contents.bytes.saturating_add(inode.size);
        let is_repeat = sum.again > 0 && sum.stored == inline;
        match sum.again {
            0 => {}
            again if is_repeat => self.duplicates.whole_files.add(again),
            again => self.duplicates.parts.add(again),
        }
        let sums = Sums { files: 1, bytes: inode.size, stored: sum.stored };
        if let Some(files) = &mut self.files {
            files.insert(inode.nid, sums);
        }
        if let Some(collector) = &mut self.collector {
            collector.see_file(&file, &sums, is_repeat, entry);
        }
        Ok(())
    }

    fn count_extent(&mut self, extent: &Extent, stored: u64) {
        let tally = self.contents.data.entry(extent.kind.name()).or_default();
        tally.extents += 1;
        tally.bytes = tally.bytes.saturating_add(extent.len);
        tally.stored = tally.stored.saturating_add(stored);
    }

    /// Claims the bytes of an extent, those on a device as `class`.
    fn take(&mut self, extent: &Extent, class: Class) -> Result<Taken, FactsError> {
        take(&mut self.budget.extents, 1, "extents")?;
        let Extent { len, plen, .. } = *extent;
        let range = |start: u64, length: u64| start..start.saturating_add(length);
        Ok(match extent.place {
            Place::Nowhere => Taken::default(),
            Place::Device(at) => {
                let claims = self.data.get_mut(usize::from(at.device));
                let stored = claims.map(|claims| claims.claim(range(at.pa.0, plen), class, |_| ()));
                let stored = stored.transpose()?.unwrap_or(0);
                Taken { stored, again: part(len, plen.saturating_sub(stored), plen) }
            }
            Place::Metadata { space: Space::Primary, position } => {
                self.claim_metadata(range(position, plen), Class::Inodes)?;
                Taken { stored: plen, again: 0 }
            }
            Place::Metadata { space: Space::Metabox, position } => {
                Taken { stored: self.metabox.stored(&range(position, plen)), again: 0 }
            }
            Place::Packed { offset } => {
                let (stored, bytes) = self.packed.take(range(offset, len))?;
                Taken { stored, again: len.saturating_sub(bytes) }
            }
        })
    }

    /// Claims the extents of a directory or symlink, if details are requested.
    fn see_blocks(&mut self, inode: &Inode, class: Class) -> Result<(), FactsError> {
        if self.collector.is_some() {
            let file = self.image.file(inode)?;
            self.see_metadata(inode, Some(&file))?;
            for extent in file.extents() {
                let extent = extent?;
                // Those in the packed inode must not count as fragments of files.
                if !matches!(extent.place, Place::Packed { .. }) {
                    self.take(&extent, class)?;
                }
            }
        }
        Ok(())
    }

    /// Claims the metadata of an inode, if details are requested.
    fn see_metadata(&mut self, inode: &Inode, file: Option<&File<'_>>) -> Result<(), FactsError> {
        if self.collector.is_none() {
            return Ok(());
        }
        if inode.space == Space::Primary {
            let end = inode.position.saturating_add(inode.body_end() as u64);
            let end = file.map(File::footprint).transpose()?.map_or(end, |range| range.end);
            self.claim_metadata(inode.position..end, Class::Inodes)?;
        }
        if inode.xattr_icount > 0 {
            take(&mut self.budget.xattrs, inode.xattr_size() as u64, "extended attributes")?;
            let (space, ranges) = self.image.shared_xattrs(inode)?;
            for range in ranges.into_iter().filter(|_| space == Space::Primary) {
                self.claim_metadata(range, Class::SharedXattrs)?;
            }
        }
        Ok(())
    }

    fn claim_metadata(&mut self, range: Range<u64>, class: Class) -> Result<(), FactsError> {
        self.collector.as_mut().map_or(Ok(()), |collector| collector.claim(range, class))
    }
}

/// The share of `stored` bytes that `len` of `plen` bytes have.
fn part(len: u64, stored: u64, plen: u64) -> u64 {
    let part = (u128::from(len) * u128::from(stored)).checked_div(u128::from(plen)).unwrap_or(0);
    u64::try_from(part).unwrap_or(len)
}

const fn class_of(kind: ExtentKind) -> Class {
    match kind {
        ExtentKind::Chunk => Class::Chunks,
        ExtentKind::Plain { .. } => Class::Plain,
        ExtentKind::Compressed { algorithm, .. } => match algorithm {
            Algorithm::Lz4 => Class::Lz4,
            Algorithm::Lzma => Class::Lzma,
            Algorithm::Deflate => Class::Deflate,
            Algorithm::Zstd => Class::Zstd,
        },
        // Others are not on a device.
        _ => Class::Flat,
    }
}
