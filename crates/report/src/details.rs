//! What is gathered of an image beside what is counted?

use std::{borrow::Cow, cmp::Reverse, collections::BTreeMap, ops::Range};

use lith_format::{
    addr::Nid,
    device_table::DEVICE_SLOT_SIZE,
    features::{Compat, Incompat},
    superblock::{EXT_SLOT_SIZE, SUPERBLOCK_POSITION, SUPERBLOCK_SIZE},
};
use lith_reader::{File, Image};

use crate::{
    Class, FactsError, Options,
    claims::Claims,
    equal::Candidates,
    facts::{Details, Device, Duplicates, Largest, Sums, TypeSums},
    file_kind,
    folders::{FolderIndex, Folders},
    largest::Ranking,
    physical,
};

/// Files of each ranking that are told as the largest.
const LARGEST: usize = 25;
/// Files of each ranking that are told in their folders.
const IN_FOLDERS: usize = 400;
/// Types that are told apart.
const TYPES: usize = 4096;
/// Files whose first bytes are looked at.
const LOOKS: u32 = 20_000;

/// What is gathered while inodes are walked.
pub(crate) struct Gathering<'a> {
    pub(crate) folders: Folders,
    types: BTreeMap<Cow<'a, str>, Sums>,
    /// Whose the bytes of metadata on the primary device are.
    metadata: Claims<Class>,
    by_bytes: Ranking,
    by_stored: Ranking,
    /// Files whose first bytes may still be looked at.
    looks: u32,
    /// Files that may be equal, if that is asked for.
    equal: Option<Candidates>,
}

impl Gathering<'_> {
    pub(crate) fn new(image: &Image, steps: u64, options: Options) -> Result<Self, FactsError> {
        let mut gathering = Self {
            folders: Folders::new(),
            types: BTreeMap::new(),
            metadata: Claims::new(steps),
            by_bytes: Ranking::new(IN_FOLDERS),
            by_stored: Ranking::new(IN_FOLDERS),
            looks: LOOKS,
            equal: options.equal_files.then(Candidates::default),
        };
        gathering.claim_tables(image)?;
        Ok(gathering)
    }

    fn claim_tables(&mut self, image: &Image) -> Result<(), FactsError> {
        let sb = image.superblock();
        let has_configs = sb.incompat.contains(Incompat::COMPR_CFGS);
        let configs = if has_configs { image.configs().size() } else { 0 };
        let head = sb.size().max(SUPERBLOCK_SIZE + usize::from(sb.ext_slots) * EXT_SLOT_SIZE);
        let end = SUPERBLOCK_POSITION + (head + configs) as u64;
        self.metadata.claim(SUPERBLOCK_POSITION..end, Class::Superblock)?;
        let (slots, start) = (image.device_map().slots.len(), sb.device_table_position());
        let end = start + (slots * DEVICE_SLOT_SIZE) as u64;
        self.metadata.claim(start..end, Class::DeviceTable)?;
        let elsewhere = image.packed_inode().is_some() || image.metabox_inode().is_some();
        if !elsewhere || sb.compat.contains(Compat::PLAIN_XATTR_PFX) {
            let mut table = Vec::new();
            image.xattr_prefixes().encode_into(&mut table);
            let start = sb.xattr_prefix_position();
            self.metadata.claim(start..start + table.len() as u64, Class::XattrPrefixes)?;
        }
        Ok(())
    }

    /// Claims metadata of the primary device. Inodes have it up to where another one may begin.
    pub(crate) fn claim(&mut self, range: Range<u64>, class: Class) -> Result<(), FactsError> {
        let whole = range.end.checked_next_multiple_of(Nid::SLOT);
        let end = if class == Class::Inodes { whole.unwrap_or(range.end) } else { range.end };
        self.metadata.claim(range.start..end, class)?;
        Ok(())
    }

    /// Takes in a regular file with its sums. `is_repeat` says that all of it, but for what is beside its inode, is stored
    /// as another one.
    pub(crate) fn see_file(
        &mut self,
        file: &File<'_>,
        sums: &Sums,
        is_repeat: bool,
        (folder, name): (FolderIndex, &[u8]),
    ) {
        self.folders.count(folder, sums);
        self.by_bytes.see(sums.bytes, sums, (folder, name));
        self.by_stored.see(sums.stored, sums, (folder, name));
        if let Some(equal) = self.equal.as_mut().filter(|_| !is_repeat) {
            equal.see(file.inode().nid, sums, (folder, name));
        }
        let known = file_kind::by_name(name);
        let kind = known.unwrap_or_else(|| Cow::Borrowed(self.look(file)));
        let is_told = self.types.len() < TYPES || self.types.contains_key(&kind);
        let kind = if is_told { kind } else { Cow::Borrowed("other") };
        self.types.entry(kind).or_default().add(sums);
    }

    /// The type that the first bytes of a file say.
    fn look(&mut self, file: &File<'_>) -> &'static str {
        let Some(left) = self.looks.checked_sub(u32::from(file.size() > 0)) else { return "other" };
        self.looks = left;
        let mut head = [0; file_kind::HEAD];
        let length = usize::try_from(file.size()).unwrap_or(head.len()).min(head.len());
        let (head, _) = head.split_at_mut(length);
        file.read_at(head, 0).map_or("unreadable", |()| file_kind::by_content(head))
    }

    /// What was gathered, but for what the packed inode holds besides.
    pub(crate) fn finish(
        mut self,
        image: &Image,
        data: &[Claims<Class>],
        duplicates: Duplicates,
    ) -> Result<Details, FactsError> {
        let equal_files = self.equal.map(|equal| equal.compare(image, &self.folders));
        let large: BTreeMap<_, _> = self.by_bytes.iter().chain(self.by_stored.iter()).collect();
        let folders = self.folders.root(large.into_values());
        let by_bytes = self.by_bytes.finish(&self.folders, LARGEST);
        let by_stored = self.by_stored.finish(&self.folders, LARGEST);
        let types = self.types.into_iter();
        let mut types: Vec<_> =
            types.map(|(name, all)| TypeSums { name: name.into_owned(), all }).collect();
        types.sort_by_key(|sums| Reverse((sums.all.stored, sums.all.bytes)));
        Ok(Details {
            folders,
            types,
            packed_rest: 0,
            largest: Largest { by_bytes, by_stored },
            duplicates,
            equal_files,
            devices_map: devices(image, &self.metadata, data)?,
        })
    }
}

fn devices(
    image: &Image,
    metadata: &Claims<Class>,
    data: &[Claims<Class>],
) -> Result<Vec<Device>, FactsError> {
    let none = Claims::new(0);
    let maps = data.iter().zip(0..).map(|(data, number)| {
        let metadata = if number == 0 { metadata } else { &none };
        physical::map((number, image.device_size(number)), metadata, data)
    });
    maps.collect()
}
