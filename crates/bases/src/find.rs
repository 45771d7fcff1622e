//! Finds the files of an image's device table.

use std::{
    fs::{File, Metadata},
    path::{Path, PathBuf},
};

use lith_device::{FileDevice, OffsetDevice, ReadAt};
use lith_format::{
    bases::{Base, NOTE_HEADER_SIZE, note_size, parse_note},
    device_table::{DEVICE_SLOT_SIZE, DeviceSlot},
    features::Incompat,
    superblock::{EXT_SLOT_SIZE, SUPERBLOCK_POSITION, SUPERBLOCK_SIZE, Superblock},
};
use lith_system::{is_block_device, is_same_file};

use crate::{BaseError, identity::check_head};

/// Where the further devices of an image are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// Files that are devices of it.
    pub devices: Vec<PathBuf>,
    /// Folders in which they are looked for by name, before the image's own folder.
    pub directories: Vec<PathBuf>,
    /// Whether several images have devices among these, so that each takes those that are its own.
    pub shared: bool,
}

impl Search {
    /// The same for one of several images.
    #[must_use]
    pub const fn shared(mut self) -> Self {
        self.shared = true;
        self
    }
}

/// A device of an image.
#[derive(Debug)]
pub struct Found {
    /// Its file.
    pub path: PathBuf,
    /// The same, open.
    pub device: FileDevice,
    /// What the image says about it; `None`: nothing.
    pub base: Option<Base>,
}

impl Found {
    fn open(path: &Path) -> Result<Self, BaseError> {
        Ok(Self { path: path.to_owned(), device: open(path)?.0, base: None })
    }
}

/// The further devices of the image that starts at byte `offset` of the file at `path`, in the order of its device table.
/// There are none if the file holds them itself, consecutively.
///
/// The devices of an image that names its bases may be given in any order, and those that are not given are looked for by
/// name. Their lengths and beginnings must be right; [`check_digest`](crate::check_digest) compares all bytes.
///
/// # Errors
/// [`BaseError`] names the first file that is missing or wrong.
pub fn find(path: &Path, offset: u64, search: &Search) -> Result<Vec<Found>, BaseError> {
    let (file, _) = open(path)?;
    find_for(&OffsetDevice::new(file, offset), path, search)
}

/// As [`find`], for an image that is open already.
///
/// # Errors
/// As [`find`].
pub fn find_for(image: &dyn ReadAt, path: &Path, search: &Search) -> Result<Vec<Found>, BaseError> {
    let given = || search.devices.iter().map(|device| Found::open(device)).collect();
    let Some((slots, block, bases)) = read_table(image, path)? else {
        return if search.shared { Ok(Vec::new()) } else { given() };
    };
    let Some(bases) = bases else {
        return if search.shared { given_for(&slots, block, search) } else { given() };
    };
    let end = |slot: &DeviceSlot| slot.uniaddr.0.saturating_add(slot.blocks);
    let end = slots.iter().map(end).max().unwrap_or(0).saturating_mul(block);
    if search.devices.is_empty() && image.size() >= end {
        return Ok(Vec::new());
    }
    Finder { image: path, search }.find_all(&bases)
}

/// For each slot of an image that names no bases the first device that is left and has as many blocks. None of other images'
/// devices are taken for its own unless they are as long; a slot without a device is an error of whoever reads the image.
fn given_for(slots: &[DeviceSlot], block: u64, search: &Search) -> Result<Vec<Found>, BaseError> {
    let left = search.devices.iter().map(|path| Found::open(path));
    let mut left: Vec<Found> = left.collect::<Result<_, _>>()?;
    let mut found = Vec::new();
    for slot in slots {
        let fits = |found: &Found| found.device.size().div_ceil(block.max(1)) == slot.blocks;
        if let Some(at) = left.iter().position(fits) {
            found.push(left.remove(at));
        }
    }
    Ok(found)
}

/// Whether the file at `path` is an image with further devices.
#[must_use]
pub fn has_devices(path: &Path) -> bool {
    let table = open(path).and_then(|(file, _)| read_table(&file, path));
    table.is_ok_and(|table| table.is_some())
}

/// The bases that the image on a device names, in the order of its device table. `None`: it names none.
///
/// # Errors
/// [`BaseError`] if they can't be told.
pub fn read_note(image: &dyn ReadAt, path: &Path) -> Result<Option<Vec<Base>>, BaseError> {
    Ok(read_table(image, path)?.and_then(|(.., bases)| bases))
}

type Table = (Vec<DeviceSlot>, u64, Option<Vec<Base>>);

/// The device table, the block size and the note of an image; `None`: it has no table, or is no image that could be read.
fn read_table(image: &dyn ReadAt, path: &Path) -> Result<Option<Table>, BaseError> {
    let read = |position: u64, len: usize| read_up_to(image, (position, len), path);
    let head = read(SUPERBLOCK_POSITION, SUPERBLOCK_SIZE + EXT_SLOT_SIZE)?;
    // The reader tells what is wrong with it.
    let Ok(superblock) = Superblock::parse(&head) else { return Ok(None) };
    let count = superblock.extra_devices;
    if count == 0 {
        return Ok(None);
    }
    let start = superblock.device_table_position();
    let size = usize::from(count) * DEVICE_SLOT_SIZE;
    let wide = superblock.incompat.contains(Incompat::BITS_48);
    let slots = DeviceSlot::parse_all(&read(start, size)?, count, wide);
    let slots = slots.map_err(|source| BaseError::Table { path: path.to_owned(), source })?;
    let start = start.saturating_add(size as u64);
    let header = read(start, NOTE_HEADER_SIZE)?;
    let bases = match note_size(&header) {
        None => None,
        Some(size) => parse_note(&read(start, size)?, count)
            .map_err(|source| BaseError::Note { path: path.to_owned(), source })?,
    };
    Ok(Some((slots, superblock.block.size().into(), bases)))
}

fn read_up_to(
    image: &dyn ReadAt,
    (position, len): (u64, usize),
    path: &Path,
) -> Result<Vec<u8>, BaseError> {
    let left = image.size().saturating_sub(position);
    let mut bytes = vec![0; usize::try_from(left).map_or(len, |left| left.min(len))];
    let failed = |source| BaseError::Read { path: path.to_owned(), source };
    image.read_at(&mut bytes, position).map_err(failed)?;
    Ok(bytes)
}

/// Opens a file, and tells whether it is a block device.
fn open(path: &Path) -> Result<(FileDevice, bool), BaseError> {
    let opened = File::open(path).and_then(|file| {
        let is_block_device = is_block_device(file.metadata()?.file_type());
        Ok((FileDevice::new(file)?, is_block_device))
    });
    opened.map_err(|source| BaseError::Open { path: path.to_owned(), source })
}

/// Whether a path leads to a file that can be read at any position. To open another, a pipe for one, may never end.
fn can_be_read_at(path: &Path) -> bool {
    let is_sought = |found: Metadata| found.is_file() || is_block_device(found.file_type());
    path.metadata().is_ok_and(is_sought)
}

/// Files of a folder that are looked at for a base of another name: a folder with more is no place for images.
const MOST_FILES: usize = 4096;

/// Finds the bases of an image.
struct Finder<'a> {
    image: &'a Path,
    search: &'a Search,
}

impl Finder<'_> {
    fn find_all(&self, bases: &[Base]) -> Result<Vec<Found>, BaseError> {
        let mut given: Vec<Option<&Path>> = vec![None; bases.len()];
        for path in &self.search.devices {
            let is_free = |(at, _): &(usize, &Base)| given.get(*at).is_some_and(Option::is_none);
            let free: Vec<_> = bases.iter().enumerate().filter(is_free).collect();
            let fits = |(_, base): &&(usize, &Base)| self.check(path, base).is_ok();
            let at = match (free.iter().find(fits), &*free) {
                (Some((at, _)), _) => *at,
                (None, _) if self.search.shared => continue,
                // With one candidate the reason is clear.
                (None, [(_, base)]) => {
                    return Err(self
                        .check(path, base)
                        .err()
                        .unwrap_or_else(|| self.unwanted(path)));
                }
                (None, _) => return Err(self.unwanted(path)),
            };
            given.get_mut(at).into_iter().for_each(|slot| *slot = Some(path));
        }
        let both = bases.iter().zip(given);
        both.map(|(base, given)| match given {
            Some(path) => self.check(path, base),
            None => self.look_for(base),
        })
        .collect()
    }

    fn unwanted(&self, path: &Path) -> BaseError {
        BaseError::Unwanted { path: path.to_owned(), image: self.image.to_owned() }
    }

    /// Finds a base by its name, or under another one: two bases can have the same. Of files that are not it the first one
    /// of its name tells why.
    fn look_for(&self, base: &Base) -> Result<Found, BaseError> {
        let name = lith_system::path(&base.name);
        let own = self.image.canonicalize().ok();
        let own = own.as_deref().unwrap_or(self.image).parent().map(Path::to_owned);
        let folders: Vec<_> = self.search.directories.iter().cloned().chain(own).collect();
        let mut wrong = None;
        let paths = folders.iter().map(|folder| folder.join(name));
        for path in paths.filter(|path| can_be_read_at(path)) {
            match self.check(&path, base) {
                Ok(found) => return Ok(found),
                Err(error) => wrong = wrong.or(Some(error)),
            }
        }
        for folder in &folders {
            if let Some(found) = self.renamed(folder, base) {
                return Ok(found);
            }
        }
        let looked: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
        Err(wrong.unwrap_or_else(|| BaseError::Missing {
            path: self.image.to_owned(),
            name: name.display().to_string(),
            looked: looked.join(", "),
        }))
    }

    /// The file in a folder that is a base under another name, if there is one.
    fn renamed(&self, folder: &Path, base: &Base) -> Option<Found> {
        let names = lith_system::names(folder).ok()?.take(MOST_FILES).filter_map(Result::ok);
        let is_as_long = |path: &PathBuf| {
            path.metadata().is_ok_and(|found| found.is_file() && found.len() == base.bytes)
        };
        // The order of a directory decides nothing.
        let mut paths: Vec<_> = names.map(|name| folder.join(name)).filter(is_as_long).collect();
        paths.sort_unstable();
        paths.iter().find_map(|path| self.check(path, base).ok())
    }

    /// Opens the file of a base.
    fn check(&self, path: &Path, base: &Base) -> Result<Found, BaseError> {
        let (device, is_block_device) = open(path)?;
        if is_same_file(path, self.image) {
            return Err(BaseError::Cycle { path: path.to_owned() });
        }
        check_head((&device, is_block_device), base, path)?;
        Ok(Found { path: path.to_owned(), device, base: Some(base.clone()) })
    }
}
