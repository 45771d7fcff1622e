//! How is everything in an image looked at once?

use std::{collections::HashMap, ops::Range};

use lith_format::{addr::Nid, compression::Algorithm, file_type::FileType, inode::InodeForm};
use lith_reader::{Extent, ExtentKind, File, Image, Inode, Place, Space};

use crate::{
    Class, FactsError, Options,
    budget::Budget,
    claims::Claims,
    details::Gathering,
    facts::{Contents, Details, Duplicates, Sums},
    folders::FolderIndex,
    number::ratio,
    shared::SharedInode,
};

/// The walk through all inodes.
pub(crate) struct Walk<'a> {
    image: &'a Image,
    budget: Budget,
    contents: Contents,
    /// All inodes that were met, with the bytes of regular files.
    met: HashMap<Nid, u64>,
    /// Directories that are still to be read.
    pending: Vec<(Inode, FolderIndex)>,
    /// Whose the bytes of each device are, as far as extents tell.
    data: Vec<Claims<Class>>,
    packed: SharedInode,
    metabox: SharedInode,
    /// What files have of the packed inode, where it is stored.
    fragments: u64,
    duplicates: Duplicates,
    gathering: Option<Gathering<'a>>,
}

/// What an extent takes.
#[derive(Clone, Copy, Default)]
struct Taken {
    /// Bytes where it is stored, if nothing met before has them.
    stored: u64,
    /// Its bytes that are stored for something met before.
    again: u64,
}

impl<'a> Walk<'a> {
    /// A walk that only counts, or gathers details if there are options for them.
    pub(crate) fn new(image: &'a Image, details: Option<Options>) -> Result<Self, FactsError> {
        let budget = Budget::new(image);
        let (steps, devices) = (budget.steps, image.device_map().slots.len() + 1);
        let gathering = details.map(|options| Gathering::new(image, steps, options)).transpose()?;
        Ok(Self {
            image,
            budget,
            contents: Contents::default(),
            met: HashMap::new(),
            pending: Vec::new(),
            data: (0..devices).map(|_| Claims::new(steps)).collect(),
            packed: SharedInode::new(steps),
            metabox: SharedInode::new(steps),
            fragments: 0,
            duplicates: Duplicates::default(),
            gathering,
        })
    }

    /// Looks at the inodes that hold what is many files'.
    pub(crate) fn see_shared_inodes(&mut self) -> Result<(), FactsError> {
        if let Some(metabox) = self.image.metabox_inode() {
            self.see_shared(metabox, Class::Metabox)?;
        }
        if let Some(packed) = self.image.packed_inode() {
            self.see_shared(packed, Class::Packed)?;
        }
        Ok(())
    }

    /// Looks at everything.
    pub(crate) fn run(&mut self) -> Result<(), FactsError> {
        self.see_shared_inodes()?;
        self.meet(self.image.superblock().root_nid, FolderIndex::ROOT, b"")?;
        while let Some((directory, folder)) = self.pending.pop() {
            self.budget.take_directory(directory.size)?;
            for entry in self.image.read_dir(&directory)? {
                let entry = entry?;
                self.contents.names += 1;
                self.meet(entry.nid, folder, &entry.name)?;
            }
        }
        Ok(())
    }

    /// What was counted, and what was gathered.
    pub(crate) fn finish(mut self) -> Result<(Contents, Option<Details>), FactsError> {
        let contents = &mut self.contents;
        let stored = contents.data.values().map(|tally| tally.stored);
        contents.stored = stored.fold(0, u64::saturating_add);
        contents.ratio = ratio(contents.stored, contents.bytes);
        let rest = self.packed.total.saturating_sub(self.fragments);
        let (image, data, duplicates) = (self.image, &self.data, self.duplicates);
        let details = self.gathering.map(|gathering| gathering.finish(image, data, duplicates));
        let details = details.transpose()?.map(|details| Details { packed_rest: rest, ..details });
        Ok((self.contents, details))
    }

    /// What a range of a file takes where it is stored, but for what was met before.
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

    /// Looks at the packed or the metabox inode, which have no names.
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

    /// Looks at what a name in a folder leads to.
    fn meet(&mut self, nid: Nid, folder: FolderIndex, name: &[u8]) -> Result<(), FactsError> {
        if let Some(bytes) = self.met.get(&nid) {
            if *bytes > 0 {
                self.duplicates.hard_links.add(*bytes);
            }
            return Ok(());
        }
        let inode = self.image.inode(nid)?;
        let is_regular = inode.file_type == FileType::Regular;
        self.met.insert(nid, if is_regular { inode.size } else { 0 });
        let contents = &mut self.contents;
        *contents.kinds.entry(inode.file_type).or_default() += 1;
        contents.compact_inodes += u64::from(inode.form == InodeForm::Compact);
        contents.inodes_with_xattrs += u64::from(inode.xattr_icount > 0);
        match inode.file_type {
            FileType::Regular => self.see_file(&inode, folder, name),
            FileType::Directory => {
                let inside = match &mut self.gathering {
                    Some(gathering) if !name.is_empty() => gathering.folders.add(folder, name),
                    _ => folder,
                };
                self.pending.push((inode, inside));
                self.see_blocks(&inode, Class::Directories)
            }
            FileType::Symlink => self.see_blocks(&inode, Class::Symlinks),
            _ => self.see_metadata(&inode, None),
        }
    }

    fn see_file(
        &mut self,
        inode: &Inode,
        folder: FolderIndex,
        name: &[u8],
    ) -> Result<(), FactsError> {
        let file = self.image.file(inode)?;
        self.see_metadata(inode, Some(&file))?;
        let (mut sum, mut beside) = (Taken::default(), 0_u64);
        for extent in file.extents() {
            let extent = extent?;
            let Taken { stored, again } = self.take(&extent, class_of(extent.kind))?;
            sum.stored = sum.stored.saturating_add(stored);
            sum.again = sum.again.saturating_add(again);
            let is_beside = matches!(extent.place, Place::Metadata { .. });
            beside = beside.saturating_add(if is_beside { stored } else { 0 });
            // What fragments take is counted with the packed inode that holds them.
            let is_fragment = extent.kind == ExtentKind::Fragment;
            self.fragments += if is_fragment { stored } else { 0 };
            self.count_extent(&extent, if is_fragment { 0 } else { stored });
        }
        self.contents.bytes = self.contents.bytes.saturating_add(inode.size);
        match sum {
            Taken { again: 0, .. } => {}
            Taken { stored, again } if stored == beside => {
                self.duplicates.whole_files.add(again);
            }
            Taken { again, .. } => self.duplicates.parts.add(again),
        }
        let sums = Sums { files: 1, bytes: inode.size, stored: sum.stored };
        if let Some(gathering) = &mut self.gathering {
            let is_repeat = sum.again > 0 && sum.stored == beside;
            gathering.see_file(&file, &sums, is_repeat, (folder, name));
        }
        Ok(())
    }

    fn count_extent(&mut self, extent: &Extent, stored: u64) {
        let tally = self.contents.data.entry(extent.kind.name()).or_default();
        tally.extents += 1;
        tally.bytes = tally.bytes.saturating_add(extent.len);
        tally.stored = tally.stored.saturating_add(stored);
    }

    /// What an extent takes; what it takes of devices becomes that of a class.
    fn take(&mut self, extent: &Extent, class: Class) -> Result<Taken, FactsError> {
        self.budget.take_extent()?;
        let Extent { len, plen, .. } = *extent;
        let range = |start: u64, length: u64| start..start.saturating_add(length);
        Ok(match extent.place {
            Place::Nowhere => Taken::default(),
            Place::Device(at) => {
                let claims = self.data.get_mut(usize::from(at.device));
                let stored = claims.map(|claims| claims.claim(range(at.pa.0, plen), class));
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

    /// Looks at the extents of what is no regular file, if details are asked for.
    fn see_blocks(&mut self, inode: &Inode, class: Class) -> Result<(), FactsError> {
        if self.gathering.is_none() {
            return Ok(());
        }
        let file = self.image.file(inode)?;
        self.see_metadata(inode, Some(&file))?;
        for extent in file.extents() {
            let extent = extent?;
            // In the packed inode they are no fragments of files.
            if !matches!(extent.place, Place::Packed { .. }) {
                self.take(&extent, class)?;
            }
        }
        Ok(())
    }

    /// Claims what an inode takes of the metadata, if details are asked for.
    fn see_metadata(&mut self, inode: &Inode, file: Option<&File<'_>>) -> Result<(), FactsError> {
        if self.gathering.is_none() {
            return Ok(());
        }
        if inode.space == Space::Primary {
            let end = inode.position.saturating_add(inode.body_end() as u64);
            let end = file.map(File::footprint).transpose()?.map_or(end, |range| range.end);
            self.claim_metadata(inode.position..end, Class::Inodes)?;
        }
        if inode.xattr_icount > 0 {
            self.budget.take_xattrs(inode.xattr_size() as u64)?;
            let (space, ranges) = self.image.shared_xattrs(inode)?;
            for range in ranges.into_iter().filter(|_| space == Space::Primary) {
                self.claim_metadata(range, Class::SharedXattrs)?;
            }
        }
        Ok(())
    }

    fn claim_metadata(&mut self, range: Range<u64>, class: Class) -> Result<(), FactsError> {
        self.gathering.as_mut().map_or(Ok(()), |gathering| gathering.claim(range, class))
    }
}

/// What of `len` bytes belongs to `stored` of `plen` bytes.
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
